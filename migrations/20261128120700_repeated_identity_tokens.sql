-- Whose identity token it was, so that the same client may present it again for a minute.

alter table used_identity_tokens add column used_at timestamptz;
alter table used_identity_tokens add column client bytea;
alter table used_identity_tokens add column customer_id uuid;
alter table used_identity_tokens add column session bigint;
alter table used_identity_tokens add column repeats integer not null default 0;
comment on column used_identity_tokens.used_at is 'When the token signed somebody in. Null: before this was recorded.';
comment on column used_identity_tokens.client is 'The client that presented it, as in known_clients: it may present the token again for a minute.';
comment on column used_identity_tokens.customer_id is 'Whom it signed in.';
comment on column used_identity_tokens.session is 'The number of the session that it opened.';
comment on column used_identity_tokens.repeats is 'How often it was presented again.';
