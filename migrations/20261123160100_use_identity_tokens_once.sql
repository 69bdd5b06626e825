-- An identity token signs in once, so that a stolen one cannot be replayed.
create table used_identity_tokens (
    store_id uuid not null,
    -- SHA-256 of what the provider signed; not of the signature: an ECDSA signature has a second valid form
    digest bytea not null,
    -- from then on the token is too old anyway
    expires_at timestamptz not null,
    -- of parallel requests with one token, one signs in
    constraint used_identity_tokens_pkey primary key (store_id, digest),
    constraint used_identity_tokens_store_id_fkey foreign key (store_id) references stores (id)
);
create index used_identity_tokens_expires_at on used_identity_tokens (expires_at);
comment on table used_identity_tokens is 'Identity tokens that have signed somebody in. Rows past expires_at mean nothing and are swept.';
