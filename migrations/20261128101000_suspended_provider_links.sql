-- Who takes an account back cannot tell which links to identity providers are theirs. None is forgotten, because the next sign-in with it would
-- open a second account; it is suspended until the customer links it again, or the provider vouches for the proven address.

alter table provider_links add column suspended_at timestamptz;
comment on column provider_links.suspended_at is 'Since when it signs nobody in; null while it does.';
