-- Codes that are fixed.

alter table verification_codes add column test_identity_id uuid;
comment on column verification_codes.test_identity_id is 'The test identity whose fixed code this is; null for a code that was sent.';
