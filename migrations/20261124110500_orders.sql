-- What is brought from one place to another, what its recipient follows, that it was delivered, and what went wrong.

create table orders (
    id uuid not null,
    company_id uuid not null,
    version bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    deleted_at timestamptz,
    tracking_number text not null,
    internal_id text,
    kind text,
    status text not null,
    skip_dispatch boolean not null,
    driver_id uuid,
    vehicle_id uuid,
    customer_id uuid,
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
    constraint orders_status_known check (status in ('created', 'dispatched', 'started', 'completed', 'cancelled', 'failed')),
    constraint orders_dispatched_with_driver check (status <> 'dispatched' or driver_id is not null)
);
create index orders_of_company on orders (company_id, created_at, id);
-- A list of one status is read from where it begins or goes on, however many orders have another.
create index orders_of_company_by_status on orders (company_id, status, created_at, id);
create index orders_of_company_by_driver on orders (company_id, driver_id, created_at, id)
    where deleted_at is null and driver_id is not null;
create index orders_of_company_by_customer on orders (company_id, customer_id, created_at, id)
    where deleted_at is null and customer_id is not null;
create index orders_of_company_by_vehicle on orders (company_id, vehicle_id, created_at, id)
    where deleted_at is null and vehicle_id is not null;
create index orders_of_company_by_kind on orders (company_id, kind, created_at, id)
    where deleted_at is null and kind is not null;
create index orders_of_company_by_internal_id on orders (company_id, internal_id, created_at, id)
    where deleted_at is null and internal_id is not null;
create index orders_open_of_driver on orders (driver_id)
    where deleted_at is null and status in ('created', 'dispatched', 'started');
-- Whether a vehicle can be deleted.
create index orders_open_of_vehicle on orders (vehicle_id)
    where deleted_at is null and status in ('created', 'dispatched', 'started');
-- Who follows an order asks whose it is, again and again while it is open.
create index orders_open_of_customer on orders (customer_id)
    where deleted_at is null and status in ('created', 'dispatched', 'started');
-- The number of an order that was deleted can be given to another one.
-- Made last: of indexes that look equally good while the table is empty, PostgreSQL takes the newest, and keeps the plan while the table grows.
create unique index orders_tracking_number_key on orders (company_id, tracking_number) where deleted_at is null;
comment on table orders is 'Orders and how far they have come.';
comment on column orders.internal_id is 'The shop''s own name for the order.';
comment on column orders.kind is 'What the shop calls this kind of order; the member type.';
comment on column orders.skip_dispatch is 'The order may start without having been dispatched.';
comment on column orders.vehicle_id is 'What it is carried in; there when the order was given it.';
comment on column orders.customer_id is 'Who ordered. No foreign key: customers are another part''s, and an order outlives its customer''s account.';

-- A search for something rare had to read every order of its company: 1.8 s of 300,000. With this it takes 3 ms; a search for something
-- common goes on reading the newest orders. The price is a tenth of a millisecond for each order that is written, and twice the table's size.
--
-- Where the extension cannot be had, searching works without it.
do $$
begin
    create extension if not exists pg_trgm;
    create index orders_by_text on orders
        using gin (internal_id gin_trgm_ops, tracking_number gin_trgm_ops, pickup gin_trgm_ops, dropoff gin_trgm_ops, notes gin_trgm_ops)
        where deleted_at is null;
exception
    when insufficient_privilege or undefined_file or feature_not_supported or undefined_object then
        raise notice 'orders are searched without an index, because pg_trgm cannot be used: %', sqlerrm;
end
$$;

-- A callback names the order and the customer of a payment. Before either is trusted, the ledger asks whose they are.
create view order_companies as select id, company_id from orders;
comment on view order_companies is 'The company of every order.';

-- What a recipient follows: the number of a shipment, and each status it reached.
create table tracking_numbers (
    id uuid not null,
    company_id uuid not null,
    version bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    deleted_at timestamptz,
    order_id uuid not null,
    tracking_number text not null,
    constraint tracking_numbers_pkey primary key (id),
    constraint tracking_numbers_company_id_fkey foreign key (company_id) references companies (id),
    constraint tracking_numbers_order_id_fkey foreign key (order_id) references orders (id),
    constraint tracking_numbers_order_id_key unique (order_id)
);
create index tracking_numbers_of_company on tracking_numbers (company_id, created_at, id);
create index tracking_numbers_of_company_by_number on tracking_numbers (company_id, tracking_number, created_at, id)
    where deleted_at is null;
comment on table tracking_numbers is 'The number of each order, made with it; the order repeats it to be found by it.';

create table tracking_statuses (
    id uuid not null,
    company_id uuid not null,
    version bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    deleted_at timestamptz,
    order_id uuid not null,
    status text not null,
    -- statuses that somebody records by hand say more than a word
    details text,
    place text,
    latitude double precision,
    longitude double precision,
    meta jsonb not null,
    constraint tracking_statuses_pkey primary key (id),
    constraint tracking_statuses_company_id_fkey foreign key (company_id) references companies (id),
    constraint tracking_statuses_order_id_fkey foreign key (order_id) references orders (id),
    constraint tracking_statuses_location_whole check ((latitude is null) = (longitude is null))
);
create index tracking_statuses_of_company on tracking_statuses (company_id, created_at, id);
create index tracking_statuses_of_company_by_status on tracking_statuses (company_id, status, created_at, id) where deleted_at is null;
create index tracking_statuses_of_order on tracking_statuses (order_id, created_at, id);
comment on table tracking_statuses is 'Every status an order reached, written with the change, and what was recorded by hand beside them.';
comment on column tracking_statuses.place is 'Where it happened, in words.';

-- That something was delivered.
create table proofs (
    id uuid not null,
    company_id uuid not null,
    version bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    deleted_at timestamptz,
    order_id uuid not null,
    tracking_number text not null,
    kind text not null,
    remarks text,
    file_url text,
    data text,
    latitude double precision,
    longitude double precision,
    captured_at timestamptz not null,
    meta jsonb not null,
    constraint proofs_pkey primary key (id),
    constraint proofs_company_id_fkey foreign key (company_id) references companies (id),
    constraint proofs_order_id_fkey foreign key (order_id) references orders (id),
    constraint proofs_kind_known check (kind in ('photo', 'signature', 'scan')),
    constraint proofs_prove_something check (file_url is not null or data is not null),
    constraint proofs_location_whole check ((latitude is null) = (longitude is null))
);
create index proofs_of_company on proofs (company_id, created_at, id);
create index proofs_of_company_by_tracking_number on proofs (company_id, tracking_number, created_at, id) where deleted_at is null;
create index proofs_of_company_by_kind on proofs (company_id, kind, created_at, id) where deleted_at is null;
create index proofs_of_order on proofs (order_id, created_at, id);
comment on table proofs is 'Proofs of delivery: what was captured at the door.';
comment on column proofs.tracking_number is 'The number the order had when the proof was captured.';
comment on column proofs.file_url is 'Where the picture is kept; never asked for by us.';
comment on column proofs.data is 'What was captured, in the app''s own form: the strokes of a signature, the text of a scanned code.';

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
create index issues_of_company_by_status on issues (company_id, status, created_at, id) where deleted_at is null;
create index issues_of_company_by_priority on issues (company_id, priority, created_at, id) where deleted_at is null;
create index issues_of_company_by_kind on issues (company_id, kind, created_at, id)
    where deleted_at is null and kind is not null;
create index issues_of_company_by_category on issues (company_id, category, created_at, id)
    where deleted_at is null and category is not null;
create index issues_of_company_by_driver on issues (company_id, driver_id, created_at, id)
    where deleted_at is null and driver_id is not null;
create index issues_of_company_by_vehicle on issues (company_id, vehicle_id, created_at, id)
    where deleted_at is null and vehicle_id is not null;
create index issues_of_company_by_order on issues (company_id, order_id, created_at, id)
    where deleted_at is null and order_id is not null;
comment on table issues is 'Issues and incidents, and what has become of them.';
comment on column issues.kind is 'What the shop calls this kind of issue; the member type.';
comment on column issues.resolved_at is 'When it was resolved last; an issue that is opened again is not resolved.';
