-- Numbers of Argentina without the 9 of mobile numbers are read as mobile ones from now on. A customer who is listed under one in the form of before
-- signs in with it, so it takes the new form, unless another account of the store has that already.
update customers set phone = '+549' || substr(phone, 4)
where phone ~ '^\+54(11|2|3)[0-9]+$' and length(phone) = 13 and closed_at is null
  and not exists (
      select from customers as other
      where other.store_id = customers.store_id and other.phone = '+549' || substr(customers.phone, 4) and other.closed_at is null
  );
