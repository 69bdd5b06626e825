-- Whether and for whom a store takes passkeys.
alter table stores add column passkey_domain text;
alter table stores add column passkey_origins text[] not null default '{}';
comment on column stores.passkey_domain is 'The domain that passkeys are made for (relying party id); null if the store takes none.';
comment on column stores.passkey_origins is 'The pages and apps that may use them. None: the pages of the domain itself.';
