-- Who follows an order asks whose it is, again and again while it is open.
create index orders_open_of_customer on orders (customer_id)
    where deleted_at is null and status in ('created', 'dispatched', 'started');
