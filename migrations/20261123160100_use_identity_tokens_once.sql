-- An identity token can be used for one sign-in only, so that a stolen token cannot be replayed.
create table used_identity_tokens (
    store_id uuid not null,
    -- SHA-256 of the signed part of the token, without the signature: every ECDSA signature has a second valid form
    digest bytea not null,
    -- the instant from which the token is too old to be accepted
    expires_at timestamptz not null,
    -- only one of several parallel requests with the same token can sign in
    constraint used_identity_tokens_pkey primary key (store_id, digest),
    constraint used_identity_tokens_store_id_fkey foreign key (store_id) references stores (id)
);
create index used_identity_tokens_expires_at on used_identity_tokens (expires_at);
comment on table used_identity_tokens is 'Identity tokens that have signed somebody in. Rows past expires_at mean nothing and are swept.';
