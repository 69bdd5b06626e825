-- A digest cannot be made again under another application key. Whoever replaces the key has to know who still needs the one before.
alter table operator_recovery_codes add column key_fingerprint bytea;
comment on column operator_recovery_codes.key_fingerprint is
    'The application key that the digest was made with; null if that is a version that did not say so.';
