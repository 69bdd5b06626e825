alter table orders add column contact_email text, add column contact_phone text;
comment on column orders.contact_email is 'The mail address of whoever ordered without an account. A customer who proves it follows the order.';
comment on column orders.contact_phone is 'The phone number of whoever ordered without an account, in E.164. A customer who proves it follows the order.';
