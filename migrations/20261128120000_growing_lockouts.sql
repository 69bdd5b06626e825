-- Lock-outs grow until somebody signs in, for wrong codes and for wrong passwords.

alter table wrong_codes add column in_a_row integer not null default 0;
alter table wrong_codes add column lockouts integer not null default 0;
alter table wrong_codes add column of_account boolean not null default false;
comment on column wrong_codes.identity is
    'The UUID of the open account that has proven the identity, so that all its identities count together; otherwise the identity itself.';
comment on column wrong_codes.of_account is 'Whether the identity is the UUID of an account: those are remembered for longer.';
comment on column wrong_codes.in_a_row is 'Wrong codes since the last sign-in; those during a lock-out do not count.';
comment on column wrong_codes.lockouts is 'Lock-outs since the last sign-in: each is longer than the one before.';

create table wrong_passwords (
    store_id uuid not null,
    subject text not null,
    of_account boolean not null,
    wrong_at timestamptz[] not null default '{}',
    in_flight timestamptz[] not null default '{}',
    in_a_row integer not null default 0,
    lockouts integer not null default 0,
    locked_out_until timestamptz,
    refused boolean not null default false,
    last_at timestamptz not null,
    constraint wrong_passwords_pkey primary key (store_id, subject),
    constraint wrong_passwords_store_id_fkey foreign key (store_id) references stores (id)
);
create index wrong_passwords_last_at on wrong_passwords (last_at);
comment on table wrong_passwords is 'Wrong passwords for one account, whatever the identity, and the address they came from.';
comment on column wrong_passwords.subject is 'The UUID of the account that the identity leads to; without one, the SHA-256 of what was typed: it may be a password.';
comment on column wrong_passwords.wrong_at is 'When wrong ones were typed in the last fifteen minutes and since the last lock-out, oldest first.';
comment on column wrong_passwords.in_flight is 'When those were counted that are being compared: they may still be right.';
comment on column wrong_passwords.in_a_row is 'Wrong ones since the last sign-in.';
comment on column wrong_passwords.lockouts is 'Lock-outs since the last sign-in: each is longer than the one before.';
comment on column wrong_passwords.refused is 'Whether the last one was refused, and so not counted.';
