-- A callback names the order and the customer of a payment. Before either is trusted, the ledger asks whose they are.
create view order_companies as select id, company_id from orders;
comment on view order_companies is 'The company of every order.';

-- Not a join: the store is looked up for the one customer that is asked for.
create view customer_companies as
    select id, (select company_id from stores where stores.id = customers.store_id) as company_id from customers;
comment on view customer_companies is 'The company of every customer.';

create view card_payers as select gateway_id, provider_id, customer_id from card_customers;
comment on view card_payers is 'The customers as card gateways name them; provider_id is null until the provider has created the record.';
