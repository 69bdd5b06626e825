-- no-transaction
-- Tallies that no longer mean anything are found by their age.
create index concurrently wrong_codes_age on wrong_codes (last_wrong_at);
