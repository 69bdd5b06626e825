-- What went wrong.
create table issues (
    id uuid not null,
    company_id uuid not null,
    version bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    deleted_at timestamptz,
    report text not null,
    title text,
    kind text,
    category text,
    priority text not null,
    status text not null,
    reporter text,
    driver_id uuid,
    vehicle_id uuid,
    order_id uuid,
    resolved_at timestamptz,
    meta jsonb not null,
    constraint issues_pkey primary key (id),
    constraint issues_company_id_fkey foreign key (company_id) references companies (id),
    constraint issues_driver_id_fkey foreign key (driver_id) references drivers (id),
    constraint issues_vehicle_id_fkey foreign key (vehicle_id) references vehicles (id),
    constraint issues_order_id_fkey foreign key (order_id) references orders (id),
    constraint issues_priority_known check (priority in ('low', 'medium', 'high', 'critical')),
    constraint issues_status_known check (status in ('open', 'in_progress', 'resolved', 'closed')),
    constraint issues_resolved_since check (status <> 'resolved' or resolved_at is not null),
    constraint issues_open_are_not_resolved check (status not in ('open', 'in_progress') or resolved_at is null)
);
create index issues_of_company on issues (company_id, created_at, id);
comment on table issues is 'Issues and incidents, and what has become of them.';
comment on column issues.kind is 'What the shop calls this kind of issue; the member type.';
comment on column issues.resolved_at is 'When it was resolved last; an issue that is opened again is not resolved.';
