-- Two owners of a company must not take each other away at the same moment. Whoever takes one away locks the row of the company before judging
-- whether an owner is left. A trigger does it, so that it holds for instances of the version before, too.

create function wait_for_others_who_take_owners_away() returns trigger language plpgsql as $$
begin
    perform from companies where id = old.company_id for no key update;
    return new;
end
$$;
create trigger wait_for_others_who_take_owners_away before update on operators for each row
    when (old.role = 'owner' and (new.role <> 'owner' or new.deleted_at is not null or new.disabled_at is not null))
    execute function wait_for_others_who_take_owners_away();
comment on trigger wait_for_others_who_take_owners_away on operators is 'A company never loses its last owner who can sign in.';
