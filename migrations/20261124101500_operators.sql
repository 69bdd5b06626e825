-- The people who work in the console.

create table operators (
    id uuid not null,
    company_id uuid not null,
    -- lower case, the way it is compared
    email text not null,
    -- Argon2id, PHC string
    password_hash text not null,
    role text not null,
    created_at timestamptz not null,
    constraint operators_pkey primary key (id),
    constraint operators_email_key unique (email),
    constraint operators_company_id_fkey foreign key (company_id) references companies (id),
    constraint operators_role_known check (role in ('owner', 'developer', 'support', 'viewer'))
);
create index operators_company_id on operators (company_id);
comment on table operators is 'People who sign in to the console of one company.';
