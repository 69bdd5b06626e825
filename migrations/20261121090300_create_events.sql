-- What happened, and the list of what still has to be handed to subscribers.
create table events (
    id uuid not null,
    company_id uuid not null,
    name text not null,
    -- the record the event is about
    subject_id uuid,
    -- the envelope, exactly as it is signed and sent; bytes, because jsonb would reorder them
    body bytea not null,
    created_at timestamptz not null,
    constraint events_pkey primary key (id),
    constraint events_company_id_fkey foreign key (company_id) references companies (id)
);
create index events_of_company on events (company_id, created_at, id);
comment on table events is 'Everything that happened, written in the transaction that made it happen; never updated.';

create table outbox (
    event_id uuid not null,
    constraint outbox_pkey primary key (event_id),
    constraint outbox_event_id_fkey foreign key (event_id) references events (id) on delete cascade
);
comment on table outbox is 'Events that have not been fanned out to subscriptions yet; a row leaves in the transaction that fans it out.';
