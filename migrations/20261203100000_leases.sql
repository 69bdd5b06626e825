-- Who does what one instance at a time does: migrating, keeping house, making indexes. The program makes this table before the first migration, too.

create table if not exists leases (
    name text not null,
    holder uuid not null,
    held_until timestamptz not null,
    constraint leases_pkey primary key (name)
);
comment on table leases is 'Work that one instance at a time does. Whoever does it renews the lease; one that has run out may be taken over.';
comment on column leases.held_until is 'By the clock of the server.';
