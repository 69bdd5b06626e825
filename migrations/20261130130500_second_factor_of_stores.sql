-- Whether a store offers its customers a second factor.
alter table stores add column second_factor text not null default 'off';
comment on column stores.second_factor is 'off, or optional: customers may set up an authenticator app.';
