-- Several deployments may share a database, each in a schema of its own. Locks and channels belong to the whole database, so their names are made
-- those of the schema. In `public` they are what they were before, so that instances of the version before see the same ones.

create function own_lock(key bigint) returns bigint language sql stable as $$
    select key # case current_schema() when 'public' then 0 else hashtextextended(current_schema(), 0) end
$$;
comment on function own_lock(bigint) is 'The key of an advisory lock of the deployment in this schema.';

create function own_lock(key integer) returns integer language sql stable as $$
    select key # case current_schema() when 'public' then 0 else hashtext(current_schema()) end
$$;
comment on function own_lock(integer) is 'The same for the first key of two.';

create function own_channel(name text) returns text language sql stable as $$
    select case current_schema() when 'public' then name else left(name || '_' || current_schema(), 63) end
$$;
comment on function own_channel is 'The name of a channel for notifications of the deployment in this schema.';
