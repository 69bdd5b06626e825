-- no-transaction
-- The index is made beside the callbacks that arrive meanwhile, in a statement of its own. The next migration puts it in the place of the other.
create unique index concurrently callbacks_once_by_variant
    on callbacks (company_id, key, (case when status <> 'refused' then gateway_id end), coalesce(variant, ''));
