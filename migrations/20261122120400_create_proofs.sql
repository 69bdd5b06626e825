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
create index proofs_of_order on proofs (order_id, created_at, id);
comment on table proofs is 'Proofs of delivery: what was captured at the door.';
comment on column proofs.tracking_number is 'The number the order had when the proof was captured.';
comment on column proofs.file_url is 'Where the picture is kept; never asked for by us.';
comment on column proofs.data is 'What was captured, in the app''s own form: the strokes of a signature, the text of a scanned code.';
