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
    constraint tracking_statuses_pkey primary key (id),
    constraint tracking_statuses_company_id_fkey foreign key (company_id) references companies (id),
    constraint tracking_statuses_order_id_fkey foreign key (order_id) references orders (id)
);
create index tracking_statuses_of_company on tracking_statuses (company_id, created_at, id);
create index tracking_statuses_of_order on tracking_statuses (order_id, created_at, id);
comment on table tracking_statuses is 'Every status an order reached, and when; written with the change, never updated.';
