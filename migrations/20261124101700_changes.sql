-- Who changed the records that decide what others may do and where data goes: a row for every change, written in its transaction.
create table changes (
    id uuid not null,
    company_id uuid not null,
    caller text not null,
    caller_id uuid,
    action text not null,
    kind text not null,
    record_id uuid not null,
    fields text[] not null,
    request_id text,
    created_at timestamptz not null,
    constraint changes_pkey primary key (id),
    constraint changes_company_id_fkey foreign key (company_id) references companies (id),
    constraint changes_caller_known check (caller in ('api_key', 'operator', 'command_line', 'service')),
    constraint changes_action_known check (action in ('created', 'updated', 'deleted'))
);
create index changes_of_company on changes (company_id, created_at, id);
create index changes_of_record on changes (company_id, record_id, created_at, id);
create index changes_by_caller on changes (company_id, caller_id, created_at, id);
create index changes_created_at on changes (created_at);
comment on table changes is 'The audit trail: changes of API keys, stores, store keys, webhooks, gateways and operators. A row never changes.';
comment on column changes.caller is 'The kind of caller who made the change.';
comment on column changes.caller_id is 'The API key or the operator. Not a foreign key: the entry outlives both.';
comment on column changes.kind is 'The kind of the record, by its name in responses.';
comment on column changes.record_id is 'The record. Not a foreign key: the entry outlives it.';
comment on column changes.fields is 'The names of the fields that an update changed. Values are never stored, so no secret is either.';
comment on column changes.request_id is 'The X-Request-Id of the request; null for the command line and the service itself.';

create view change_log as
select id, company_id, caller, caller_id, action, kind, record_id, fields, request_id, created_at, created_at as updated_at,
       1::bigint as version, null::timestamptz as deleted_at
from changes;
comment on view change_log is 'The audit trail, with the columns of every record.';
