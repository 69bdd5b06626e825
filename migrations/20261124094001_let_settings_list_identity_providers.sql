-- The settings list the identity providers, so the schema does not. A link of a provider that is no longer listed stays and signs nobody in.
alter table provider_links drop constraint provider_links_provider_known;
alter table provider_links add constraint provider_links_provider_is_word check (provider ~ '^[a-z][a-z0-9_]{0,39}$');
comment on column provider_links.provider is
    'The name of the provider with _ in place of -: idp_a. claimed_idp_c: ids taken without proof (providers.idp_c.verification = none), which open nothing that a proven one made.';
