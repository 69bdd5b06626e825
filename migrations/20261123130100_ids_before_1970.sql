-- No id is older than 1970: whatever was to be kept since before, such as for a hundred years, begins with the first one.

create or replace function uuid_v7_floor(at timestamptz) returns uuid language sql immutable parallel safe as $$
    select rpad(lpad(to_hex(greatest(0, floor(extract(epoch from at) * 1000)::bigint)), 12, '0'), 32, '0')::uuid
$$;
