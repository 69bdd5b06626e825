-- Second factors of customers: authenticator apps, recovery codes, and sign-ins that wait for one of both.

create table authenticators (
    id uuid not null,
    store_id uuid not null,
    sealed_secret bytea not null,
    offered_at timestamptz not null,
    enabled_at timestamptz,
    last_step bigint,
    wrong integer not null default 0,
    in_a_row integer not null default 0,
    lockouts integer not null default 0,
    locked_out_until timestamptz,
    last_wrong_at timestamptz,
    constraint authenticators_pkey primary key (id),
    constraint authenticators_id_fkey foreign key (id) references customers (id) on delete cascade
);
create index authenticators_of_store on authenticators (store_id) where enabled_at is not null;
create index authenticators_offered_at on authenticators (offered_at) where enabled_at is null;
comment on table authenticators is 'Authenticator apps of customers (TOTP), one of each customer at most.';
comment on column authenticators.id is 'The customer.';
comment on column authenticators.sealed_secret is 'The secret, encrypted under the application key for this row alone.';
comment on column authenticators.enabled_at is 'Since when sign-ins ask for its codes; null while it waits for the first code.';
comment on column authenticators.last_step is 'The 30 seconds whose code was accepted last: neither this one nor an earlier one is accepted again.';
comment on column authenticators.wrong is 'Wrong codes of the lock-out that has not begun yet.';
comment on column authenticators.in_a_row is 'Wrong codes since the last right one, over all lock-outs.';

-- What others read of them, by name, so that the rest may change.
create view second_factors as select id as customer_id, store_id, enabled_at from authenticators where enabled_at is not null;
comment on view second_factors is 'The customers whose sign-ins ask for a second factor.';

create table customer_recovery_codes (
    customer_id uuid not null,
    digest bytea not null,
    store_id uuid not null,
    constraint customer_recovery_codes_pkey primary key (customer_id, digest),
    constraint customer_recovery_codes_customer_id_fkey foreign key (customer_id) references customers (id) on delete cascade
);
comment on table customer_recovery_codes is 'Codes that stand in for the authenticator app of a customer, each once; deleted when used.';
comment on column customer_recovery_codes.digest is 'SHA-256 of the customer and the code, which has 120 random bits.';

create table pending_sign_ins (
    digest bytea not null,
    store_id uuid not null,
    customer_id uuid not null,
    app bytea not null,
    network text not null,
    identity text,
    password_hash text,
    created_at timestamptz not null,
    expires_at timestamptz not null,
    constraint pending_sign_ins_pkey primary key (digest),
    constraint pending_sign_ins_customer_id_fkey foreign key (customer_id) references customers (id) on delete cascade
);
create index pending_sign_ins_customer_id on pending_sign_ins (customer_id, created_at);
create index pending_sign_ins_expires_at on pending_sign_ins (expires_at);
comment on table pending_sign_ins is 'Sign-ins whose first factor was right, and which wait for the second one; deleted when used or too old.';
comment on column pending_sign_ins.digest is 'SHA-256 of the handle that the app was given.';
comment on column pending_sign_ins.app is 'SHA-256 of the user agent and the store key of the first factor.';
comment on column pending_sign_ins.network is 'The network of the client that the first factor came from.';
comment on column pending_sign_ins.identity is 'The phone number or email address that was typed, for the audit.';
comment on column pending_sign_ins.password_hash is 'The new password of a reset, which counts once the second factor is right.';
