-- The rooms beside the customers read of them through views, so that the table has one owner.
create view customer_identities as
select id, store_id, email_key, email_verified_at, phone, phone_verified_at, closed_at, erased_at from customers;
comment on view customer_identities is 'The email address and the phone number of each account, whether they are proven, and whether the account is closed or erased.';

create view live_sessions as
select customer_tokens.id as number, customer_tokens.customer_id, customer_tokens.expires_at
from customer_tokens join customers on customers.id = customer_tokens.customer_id join stores on stores.id = customers.store_id
where customer_tokens.revoked_at is null and customers.closed_at is null and stores.deleted_at is null;
comment on view live_sessions is 'Sessions that are not revoked, of open accounts and stores. Whether one has expired is for the reader to tell.';
