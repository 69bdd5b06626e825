-- no-transaction
-- Expired codes are found by their age.
create index concurrently verification_codes_age on verification_codes (expires_at);
