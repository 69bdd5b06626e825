-- Who wants which events, where they are sent, how each endpoint is doing, and what the operators are told of it.

create table subscriptions (
    id uuid not null,
    company_id uuid not null,
    url text not null,
    description text,
    -- event names, groups (order.*) or *; empty: every event
    events text[] not null,
    api_version text not null,
    -- whether X-Service-Signature is bare hex or prefixed with sha256=
    signature_format text not null,
    -- further headers of every POST, an object of lower-case names and values; they hold keys and passwords, so they are kept like the signing secret
    headers jsonb not null,
    sealed_headers bytea,
    -- seconds one attempt may take, connecting and reading the answer included
    timeout smallint not null,
    rate_limit smallint,
    ordering text not null default 'none',
    status text not null,
    disabled_reason text,
    disabled_at timestamptz,
    sealed_secret bytea not null,
    sealed_previous_secret bytea,
    previous_secret_until timestamptz,
    version bigint not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    deleted_at timestamptz,
    constraint subscriptions_pkey primary key (id),
    constraint subscriptions_company_id_fkey foreign key (company_id) references companies (id),
    constraint subscriptions_status_known check (status in ('enabled', 'disabled')),
    constraint subscriptions_disabled_says_why_and_when check (
        (status = 'disabled') = (disabled_at is not null) and (status = 'disabled') = (disabled_reason is not null)
    ),
    constraint subscriptions_disabled_reason_known check (disabled_reason in ('requested', 'gone', 'failing')),
    constraint subscriptions_signature_format_known check (signature_format in ('bare', 'prefixed')),
    constraint subscriptions_timeout_range check (timeout between 1 and 30),
    constraint subscriptions_rate_limit_range check (rate_limit between 1 and 1000),
    constraint subscriptions_ordering_known check (ordering in ('none', 'resource')),
    constraint subscriptions_previous_secret_ends check ((sealed_previous_secret is null) = (previous_secret_until is null))
);
create index subscriptions_of_company on subscriptions (company_id, created_at, id) where deleted_at is null;
comment on table subscriptions is 'A webhook: an endpoint URL of a company and the events it wants.';
comment on column subscriptions.headers is 'The names, for showing.';
comment on column subscriptions.sealed_headers is
    'The further headers as a JSON object, encrypted under the application key for this row alone. Null: there never were any.';
comment on column subscriptions.rate_limit is 'Attempts a second at most; null: as many as there are.';
comment on column subscriptions.ordering is 'resource: the next delivery of a resource waits until the one before has ended; none: nothing waits.';
comment on column subscriptions.disabled_reason is
    'requested: by an operator or an API key; gone: the endpoint answered 410; failing: every delivery failed for five days.';
comment on column subscriptions.sealed_secret is 'The signing secret, encrypted under the application key for this row alone.';
comment on column subscriptions.previous_secret_until is 'Until then the previous secret signs as well: a rotation overlaps.';

-- How each subscription's endpoint is doing, and what it may be asked for.
create table endpoints (
    subscription_id uuid not null,
    -- deliveries of this endpoint in in_flight; counted here, because whoever claims has to know it exactly
    in_flight integer not null default 0,
    -- what the rate limit lets begin next: the theoretical arrival time of the generic cell rate algorithm
    next_arrival_at timestamptz,
    consecutive_failures integer not null default 0,
    -- the first failure since the last success
    failing_since timestamptz,
    -- What the operators have been told of an endpoint that fails, in percent of the time until it is disabled; 0: nothing yet
    noticed_percent smallint not null default 0,
    -- failing_since of the episode they have been told of
    noticed_since timestamptz,
    last_success_at timestamptz,
    last_failure_at timestamptz,
    -- null: the circuit is closed; before then it is open; after then it is half open
    open_until timestamptz,
    -- Cancelling what waits for an endpoint, however much that is: the endpoint says how far its deliveries are cancelled, so that none of them
    -- is sent any more, and whoever comes by closes the next batch.
    cancelled_before bigint,
    constraint endpoints_pkey primary key (subscription_id),
    constraint endpoints_in_flight_counted check (in_flight >= 0),
    constraint endpoints_noticed_percent_known check (noticed_percent in (0, 50, 70, 90, 100)),
    constraint endpoints_noticed_of_an_episode check ((noticed_percent = 0) = (noticed_since is null))
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0);
-- The few that have been failing for long are found without looking at all.
create index endpoints_failing on endpoints (failing_since) where failing_since is not null;
create index endpoints_noticed on endpoints (subscription_id) where noticed_since is not null;
create index endpoints_cancelled on endpoints (cancelled_before) where cancelled_before is not null;
comment on table endpoints is
    'One row for each subscription, written with every batch. Whoever moves deliveries of an endpoint between the tables locks its row first.';
comment on column endpoints.cancelled_before is
    'What waits with a lesser place is cancelled, and while there may be any of it, nothing of the endpoint is claimed. Null: nothing is.';

-- Mails to operators, stored until a mail server has accepted them.
create table operator_letters (
    id uuid not null,
    subscription_id uuid not null,
    address text not null,
    subject text not null,
    body text not null,
    -- failed attempts
    failures smallint not null default 0,
    -- the time of the next attempt; during an attempt, the time when its lease expires and another worker may retry
    due_at timestamptz not null,
    constraint operator_letters_pkey primary key (id),
    constraint operator_letters_latest unique (subscription_id, address),
    constraint operator_letters_subscription_id_fkey foreign key (subscription_id) references subscriptions (id)
);
create index operator_letters_due on operator_letters (due_at);
comment on table operator_letters is
    'Letters to operators that have not been sent: to each address the latest about each webhook. One that is sent, or given up, is deleted.';

-- What others read of them, by name, so that the rest may change.
create view subscription_wishes as
select id as subscription_id, company_id, version, events, rate_limit, ordering
from subscriptions where status = 'enabled' and deleted_at is null;
comment on view subscription_wishes is
    'What enabled webhooks want. Who reads it to make deliveries locks it for share: who disables a webhook then waits, or is seen.';

create view subscription_endpoints as
select id as subscription_id, company_id, version, url, sealed_headers, signature_format, timeout, rate_limit, sealed_secret,
       sealed_previous_secret, previous_secret_until, deleted_at
from subscriptions;
comment on view subscription_endpoints is
    'How deliveries are made to the endpoints of webhooks, enabled or not: what is in the queue of one that was disabled may still be a replay.';

create view cancellations as
select subscription_id, cancelled_before from endpoints where cancelled_before is not null;
comment on view cancellations is 'Endpoints whose deliveries are being cancelled, and how far.';
