-- An attempt says more: why TLS failed, and how often its request was sent. The mail about a failing endpoint says how its latest attempt ended.

alter table attempts add column reason text;
alter table attempts add column resends smallint not null default 0;
comment on column attempts.reason is 'What says more than the word of error, such as why TLS failed. Null: nothing does.';
comment on column attempts.resends is
    'How often the request was sent again: its connection was an old one that ended, or the endpoint had certainly not processed it.';

alter table endpoints add column last_failure text;
comment on column endpoints.last_failure is
    'How the latest failed attempt ended, replays aside: with a status, or with a word of attempts.error and, behind a blank, its reason.';
