-- Further headers of a subscription hold keys and passwords, so they are kept like the signing secret.
alter table subscriptions add column sealed_headers bytea;
comment on column subscriptions.sealed_headers is
    'The further headers as a JSON object, encrypted under the application key for this row alone. Null in rows from before, until their next change.';
comment on column subscriptions.headers is 'The names, for showing; the values only where sealed_headers is null.';
