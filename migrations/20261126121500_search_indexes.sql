-- Searching the customers or payments of a large company read all of them. As for orders (orders_by_text), an index of trigrams finds what is
-- rare, and searching works without it where the extension cannot be had.
--
-- Making one takes about a second for 100,000 rows, during which the table is not written. Whoever has millions makes them before, with the same
-- names and `create index concurrently`.
do $$
begin
    create extension if not exists pg_trgm;
    create index if not exists customers_by_text on customers using gin (name gin_trgm_ops, email gin_trgm_ops, phone gin_trgm_ops);
    create index if not exists payments_by_text on payments using gin (transaction_id gin_trgm_ops) where deleted_at is null;
exception
    when insufficient_privilege or undefined_file or feature_not_supported or undefined_object then
        raise notice 'customers and payments are searched without an index, because pg_trgm cannot be used: %', sqlerrm;
end
$$;
