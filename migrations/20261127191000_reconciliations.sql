-- A card gateway is asked for events whose callbacks did not arrive. Where that has come to survives a restart.

create view card_gateways as
select id, created_at from gateways
where driver = 'card' and status = 'active' and secret_key is not null and deleted_at is null;
comment on view card_gateways is 'The gateways that can be asked.';

create table reconciliations (
    gateway_id uuid not null,
    -- events before this instant have been seen
    seen_until timestamptz not null,
    began_at timestamptz,
    position text,
    due_at timestamptz not null,
    constraint reconciliations_pkey primary key (gateway_id),
    constraint reconciliations_position_within_pass check (position is null or began_at is not null)
);
create index reconciliations_due on reconciliations (due_at);
comment on table reconciliations is
    'How far the events of each card gateway have been compared with the ledger. A pass reads the provider''s list page by page, newest first.';
comment on column reconciliations.began_at is 'When the pass under way began; what is seen once it ends. Null: none is under way.';
comment on column reconciliations.position is 'The provider''s id of the last event that was compared; the next page begins behind it.';
comment on column reconciliations.due_at is 'When to go on, or to begin the next pass; while an instance works on it, when another may take over.';
