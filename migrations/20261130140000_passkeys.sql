-- Passkeys of customers (WebAuthn), and the answers to challenges. The edition before does not know these tables: what it deletes takes their
-- rows along.

create table passkeys (
    id uuid not null,
    store_id uuid not null,
    customer_id uuid not null,
    -- what the authenticator calls the credential
    credential_id bytea not null,
    -- COSE_Key (RFC 9052), as the authenticator made it
    public_key bytea not null,
    domain text not null,
    name text not null,
    counter bigint not null,
    backup_eligible boolean not null,
    backed_up boolean not null,
    created_at timestamptz not null,
    last_used_at timestamptz,
    suspended_at timestamptz,
    constraint passkeys_pkey primary key (id),
    constraint passkeys_customer_id_fkey foreign key (customer_id) references customers (id) on delete cascade,
    -- what makes a credential one account's
    constraint passkeys_credential unique (store_id, credential_id)
);
create index passkeys_customer_id on passkeys (customer_id);
comment on table passkeys is 'Public keys that customers sign in with; deleted when the account is closed.';
comment on column passkeys.domain is 'The domain of the store when the passkey was made: with another one it signs nobody in.';
comment on column passkeys.name is 'What the customer calls it.';
comment on column passkeys.counter is 'The signature counter that was seen last. 0: the authenticator does not count.';
comment on column passkeys.backup_eligible is 'Whether it may be on several devices.';
comment on column passkeys.suspended_at is 'Since when it signs nobody in until the customer resumes it: the account was taken back.';

-- One for each customer who has asked for a passkey, so that an authenticator replaces an older one of the same account.
create table passkey_users (
    customer_id uuid not null,
    store_id uuid not null,
    handle bytea not null,
    constraint passkey_users_pkey primary key (customer_id),
    constraint passkey_users_customer_id_fkey foreign key (customer_id) references customers (id) on delete cascade
);
comment on table passkey_users is 'What authenticators know customers by.';
comment on column passkey_users.handle is 'Random, so that it says nothing about the customer.';

-- Only answered challenges: one that nobody answers leaves nothing behind.
create table answered_challenges (
    store_id uuid not null,
    nonce bytea not null,
    expires_at timestamptz not null,
    constraint answered_challenges_pkey primary key (store_id, nonce)
);
create index answered_challenges_expires_at on answered_challenges (expires_at);
comment on table answered_challenges is 'Challenges that passkeys have answered, until they expire: each is answered once.';
