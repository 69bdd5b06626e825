-- no-transaction
-- What is swept after a day, among what is remembered for a month.
create index concurrently wrong_codes_passing on wrong_codes (last_wrong_at) where lockouts = 0 and not of_account;
