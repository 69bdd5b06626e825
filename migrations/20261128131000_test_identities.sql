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
comment on column test_identities.code is 'Opens accounts that were made with this identity, and no others; so it is no secret of a customer.';
comment on column test_identities.expires_at is 'From then on the code is refused, and still nothing is sent.';

-- What others read of them, by name, so that the rest may change. Deleted ones are there, because what was done with them is still counted.
create view tested_identities as select store_id, identity, deleted_at from test_identities;
comment on view tested_identities is 'The identities of each store that are or were for tests.';

alter table verification_codes add column test_identity_id uuid;
comment on column verification_codes.test_identity_id is 'The test identity whose fixed code this is; null for a code that was sent.';

alter table customers add column test_identity_id uuid;
comment on column customers.test_identity_id is 'The test identity that the account was made with; null for the account of a customer.';

create or replace view customer_records as
select id, company_id, store_id, name, email, email_verified_at, phone, phone_verified_at, title, photo_url, meta, closed_at, created_at,
       updated_at, (extract(epoch from updated_at) * 1000000)::bigint as version, null::timestamptz as deleted_at,
       email_key, banned_at, banned_reason, test_identity_id is not null as test
from customers;
