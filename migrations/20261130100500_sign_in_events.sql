-- Stores that want to know of every sign-in.
alter table stores add column sign_in_events boolean not null default false;
comment on column stores.sign_in_events is 'Whether every sign-in publishes customer.signed_in.';
