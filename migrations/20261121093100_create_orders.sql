-- What is brought from one place to another.
create table orders (
    id uuid not null,
    company_id uuid not null,
    version bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    deleted_at timestamptz,
    status text not null,
    skip_dispatch boolean not null,
    tracking_number text not null,
    internal_id text,
    kind text,
    driver_id uuid,
    customer_id uuid,
    vehicle_id uuid,
    pickup text,
    dropoff text,
    notes text,
    scheduled_at timestamptz,
    dispatched_at timestamptz,
    started_at timestamptz,
    completed_at timestamptz,
    cancelled_at timestamptz,
    failed_at timestamptz,
    meta jsonb not null,
    constraint orders_pkey primary key (id),
    constraint orders_company_id_fkey foreign key (company_id) references companies (id),
    constraint orders_driver_id_fkey foreign key (driver_id) references drivers (id),
    constraint orders_tracking_number_key unique (company_id, tracking_number),
    constraint orders_status_known check (status in ('created', 'dispatched', 'started', 'completed', 'cancelled', 'failed')),
    constraint orders_dispatched_with_driver check (status <> 'dispatched' or driver_id is not null)
);
create index orders_of_company on orders (company_id, created_at, id);
create index orders_open_of_driver on orders (driver_id)
    where deleted_at is null and status in ('created', 'dispatched', 'started');
comment on table orders is 'Orders and how far they have come.';
comment on column orders.skip_dispatch is 'The order may start without having been dispatched.';
comment on column orders.internal_id is 'The shop''s own name for the order.';
comment on column orders.kind is 'What the shop calls this kind of order; the member type.';
comment on column orders.customer_id is 'Who ordered. No foreign key: customers are another part''s, and an order outlives its customer''s account.';
comment on column orders.vehicle_id is 'What it is carried in; the shop''s word, not checked.';
