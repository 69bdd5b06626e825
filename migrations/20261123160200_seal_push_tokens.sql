-- Push tokens are encrypted at rest, like other secrets.
alter table devices add column sealed_token bytea;
alter table devices alter column token drop not null;
alter table devices add constraint devices_token_kept check (num_nonnulls(token, sealed_token) = 1);
comment on column devices.sealed_token is
    'What the platform''s push channel knows the device by, encrypted under the application key for this row alone.';
comment on column devices.token is 'The same in clear, in rows from before sealed_token until the device is registered again.';
