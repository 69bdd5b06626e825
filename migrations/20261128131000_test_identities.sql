-- Numbers and addresses of nobody, with which reviewers of an app and automated tests register and sign in.
create table test_identities (
    id uuid not null,
    company_id uuid not null,
    version bigint not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    deleted_at timestamptz,
    store_id uuid not null,
    identity text not null,
    code text not null,
    expires_at timestamptz not null,
    constraint test_identities_pkey primary key (id),
    constraint test_identities_company_id_fkey foreign key (company_id) references companies (id),
    constraint test_identities_store_id_fkey foreign key (store_id) references stores (id),
    constraint test_identities_code_digits check (code ~ '^[0-9]{6}$')
);
create unique index test_identities_identity on test_identities (store_id, identity) where deleted_at is null;
create index test_identities_of_company on test_identities (company_id, created_at, id);
comment on table test_identities is 'Phone numbers and email addresses whose codes are fixed and never sent.';
comment on column test_identities.identity is 'The phone number in E.164 or the email address, as codes are stored under it.';
comment on column test_identities.code is 'Opens accounts that were made with a test identity, and no others; so it is no secret of a customer.';
comment on column test_identities.expires_at is 'From then on the code is refused, and still nothing is sent.';

-- What others read of them, by name, so that the rest may change. Deleted ones are there, because what was done with them is still counted.
create view tested_identities as select id, store_id, identity, deleted_at from test_identities;
comment on view tested_identities is 'The identities of each store that are or were for tests.';
