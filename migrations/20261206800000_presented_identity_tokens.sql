-- An identity token is for an app, and stores can share the app: a token that was presented in one of them is good in no other.
create table presented_identity_tokens (
    -- SHA-256 of the signed part of the token, as in used_identity_tokens
    digest bytea not null,
    store uuid not null,
    -- the instant from which the token is too old to be accepted
    expires_at timestamptz not null,
    -- parallel requests with the same token wait for each other, whichever stores they are for
    constraint presented_identity_tokens_pkey primary key (digest)
);
create index presented_identity_tokens_expires_at on presented_identity_tokens (expires_at);
comment on table presented_identity_tokens is
    'In which store an identity token was used: it is good in no other. Rows past expires_at mean nothing and are swept.';
comment on column presented_identity_tokens.store is
    'The store, without a reference: the row says something about the token, and stays for its minutes when the store goes.';
