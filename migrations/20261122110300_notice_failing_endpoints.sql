-- What the operators have been told of an endpoint that fails.
alter table endpoints
    -- of the time until it is disabled; 0: nothing yet
    add column noticed_percent smallint not null default 0,
    -- failing_since of the episode they have been told of
    add column noticed_since timestamptz,
    add constraint endpoints_noticed_percent_known check (noticed_percent in (0, 50, 70, 90, 100)),
    add constraint endpoints_noticed_of_an_episode check ((noticed_percent = 0) = (noticed_since is null));
-- The few that have been failing for long are found without looking at all.
create index endpoints_failing on endpoints (failing_since) where failing_since is not null;
create index endpoints_noticed on endpoints (subscription_id) where noticed_since is not null;

alter table subscriptions
    drop constraint subscriptions_disabled_reason_known,
    add constraint subscriptions_disabled_reason_known check (disabled_reason in ('requested', 'gone', 'failing'));
comment on column subscriptions.disabled_reason is
    'requested: by an operator or an API key; gone: the endpoint answered 410; failing: every delivery failed for five days.';
