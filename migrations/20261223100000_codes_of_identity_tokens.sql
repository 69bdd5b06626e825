-- With which authorization code an identity token came: a provider exchanges a code once, so the same request again is told by both.
alter table used_identity_tokens add column code_digest bytea;
comment on column used_identity_tokens.code_digest is
    'SHA-256 of the authorization code that came with the token. Null: codes of the provider are not exchanged.';
