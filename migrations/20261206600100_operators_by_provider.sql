-- no-transaction
-- A sign-in with the identity provider finds its operator by their person there. Operators of several companies may be one person.
create unique index concurrently if not exists operators_provider_key on operators (provider_issuer, provider_subject, company_id)
    where provider_subject is not null and deleted_at is null;
