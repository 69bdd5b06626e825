-- Refuses a statement that arrives after its caller has given up: a server that was stopped, or a network that was, hands over what was
-- sent meanwhile. The caller was told that nothing happened, so nothing may happen.
create function must_not_be_late(answer_by timestamptz) returns boolean language plpgsql volatile as $$
begin
    if clock_timestamp() > answer_by then
        raise query_canceled using message = 'the statement arrived after its caller had given up';
    end if;
    return true;
end
$$;
