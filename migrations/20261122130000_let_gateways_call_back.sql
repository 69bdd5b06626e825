-- What a gateway's callbacks are verified with and understood by.
alter table gateways
    -- encrypted under the application key for this row alone
    add column signing_secret bytea,
    add column settings jsonb not null default '{}';
comment on column gateways.signing_secret is 'What the gateway signs its callbacks with; never returned.';
comment on column gateways.settings is 'What the driver needs to know beside the secrets: header, encoding, where things stand in a body.';
