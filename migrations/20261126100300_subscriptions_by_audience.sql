-- no-transaction
drop index concurrently subscriptions_by_audience;
