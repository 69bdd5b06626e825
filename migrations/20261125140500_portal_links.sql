-- How a company's own customers get to their webhooks: a link, and the sessions that it has opened.

create table portal_links (
    id uuid not null,
    company_id uuid not null,
    owner text not null,
    -- SHA-256 of the key in the link
    digest bytea not null,
    -- until then the link can be opened
    expires_at timestamptz not null,
    last_opened_at timestamptz,
    name text,
    accent text,
    radius integer,
    color_scheme text,
    version bigint not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    deleted_at timestamptz,
    constraint portal_links_pkey primary key (id),
    constraint portal_links_digest_key unique (digest),
    constraint portal_links_company_id_fkey foreign key (company_id) references companies (id),
    constraint portal_links_color_scheme_known check (color_scheme in ('light', 'dark', 'system'))
);
create index portal_links_of_company on portal_links (company_id, created_at, id) where deleted_at is null;
create index portal_links_of_owner on portal_links (company_id, owner, created_at, id) where deleted_at is null;
create index portal_links_expires_at on portal_links (expires_at);
comment on table portal_links is 'Links that let one of a company''s own customers into the portal. One that is deleted is revoked, and its sessions with it.';
comment on column portal_links.owner is 'Whose webhooks are shown: subscriptions.owner.';
comment on column portal_links.name is 'The theme: what the portal is called, its colour, corners and scheme. Null: that of the settings.';

create table portal_sessions (
    -- SHA-256 of the token in the cookie
    token_digest bytea not null,
    link_id uuid not null,
    created_at timestamptz not null,
    -- accurate to a minute
    last_used_at timestamptz not null,
    constraint portal_sessions_pkey primary key (token_digest),
    constraint portal_sessions_link_id_fkey foreign key (link_id) references portal_links (id) on delete cascade
);
create index portal_sessions_link_id on portal_sessions (link_id);
create index portal_sessions_last_used_at on portal_sessions (last_used_at);
comment on table portal_sessions is 'Browsers in which a portal link is open.';

alter table changes drop constraint changes_caller_known;
alter table changes add constraint changes_caller_known
    check (caller in ('api_key', 'operator', 'portal_link', 'command_line', 'service'));
comment on column changes.caller_id is 'The API key, the operator or the portal link. Not a foreign key: the entry outlives them.';
comment on table changes is
    'The audit trail: changes of API keys, stores, store keys, webhooks, gateways, operators and portal links. A row never changes.';
