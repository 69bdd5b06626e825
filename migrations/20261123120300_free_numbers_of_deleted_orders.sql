-- The number of an order that was deleted can be given to another one.
alter table orders drop constraint orders_tracking_number_key;
create unique index orders_tracking_number_key on orders (company_id, tracking_number) where deleted_at is null;
comment on column orders.vehicle_id is 'What it is carried in; there when the order was given it.';
