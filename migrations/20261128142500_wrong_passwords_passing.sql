-- no-transaction
-- What is swept after a day, among what is remembered for a month.
create index concurrently wrong_passwords_passing on wrong_passwords (last_at) where lockouts = 0 and not of_account;
