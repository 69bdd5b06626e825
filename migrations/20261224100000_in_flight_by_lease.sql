-- no-transaction
-- There are as many rows as there are permits, and few of them change hands: who looks for leases that have run out reads all.
drop index concurrently if exists in_flight_by_lease;
