-- How operators get into the console.

create table operator_sessions (
    id uuid not null,
    operator_id uuid not null,
    -- SHA-256 of the token in the cookie
    token_digest bytea not null,
    -- where it began
    address text not null,
    user_agent text not null,
    created_at timestamptz not null,
    -- accurate to a minute
    last_used_at timestamptz not null,
    constraint operator_sessions_pkey primary key (id),
    constraint operator_sessions_token_key unique (token_digest),
    constraint operator_sessions_operator_id_fkey foreign key (operator_id) references operators (id) on delete cascade
);
create index operator_sessions_operator_id on operator_sessions (operator_id, created_at);
create index operator_sessions_last_used_at on operator_sessions (last_used_at);
comment on table operator_sessions is 'Browsers in which an operator is signed in to the console.';

create table operator_links (
    -- SHA-256 of the secret in the link
    digest bytea not null,
    operator_id uuid not null,
    expires_at timestamptz not null,
    constraint operator_links_pkey primary key (digest),
    constraint operator_links_operator_id_fkey foreign key (operator_id) references operators (id) on delete cascade
);
create index operator_links_expires_at on operator_links (expires_at);
comment on table operator_links is 'Links that sign an operator in once.';
