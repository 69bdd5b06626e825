-- A tracking number has one spelling, in capital letters, so that it is found however somebody types it. One that another order has already,
-- but for the case of its letters, stays as it is.

update orders set tracking_number = upper(tracking_number collate "C")
where tracking_number ~ '[a-z]' and not exists (
    select from orders as other
    where other.company_id = orders.company_id and other.id <> orders.id and other.deleted_at is null
      and upper(other.tracking_number collate "C") = upper(orders.tracking_number collate "C")
);
update tracking_numbers set tracking_number = orders.tracking_number
from orders where orders.id = tracking_numbers.order_id and tracking_numbers.tracking_number ~ '[a-z]';
update proofs set tracking_number = upper(tracking_number collate "C") where tracking_number ~ '[a-z]';
