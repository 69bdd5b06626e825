-- The indexes of declared extensions were made of expressions that a record of a later version of its schema could be an error of.
-- The program makes those that its filters need anew when it starts, of expressions that are an error of no record.
do $$
declare
    name text;
begin
    for name in
        select relname from pg_index join pg_class on pg_class.oid = indexrelid
        where indrelid = to_regclass('declared_records') and relname ~ '^declared_[0-9a-f]{16}$'
    loop
        execute format('drop index %I', name);
    end loop;
end $$;
