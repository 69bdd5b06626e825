-- Who asked for a code.

alter table verification_codes add column asked_by bytea;
comment on column verification_codes.asked_by is
    'SHA-256 of the network, the user agent and the store key of the client that asked for the code: only that client is told how the code stands.';
