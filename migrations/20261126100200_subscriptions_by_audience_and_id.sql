-- no-transaction
create index concurrently subscriptions_by_audience_and_id on subscriptions (company_id, coalesce(owner, ''), id) where deleted_at is null;
