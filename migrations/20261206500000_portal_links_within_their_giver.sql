-- A portal link comes from no other networks than the API key that made it, and its sessions end with that key.
alter table portal_links
    add column allowed_networks text[] not null default '{}',
    add column sessions_end_at timestamptz;
comment on column portal_links.allowed_networks is 'Networks the link may be opened and its sessions used from, in CIDR notation; empty means any.';
comment on column portal_links.sessions_end_at is
    'When the sessions of the link end at the latest: with the API key that set its lifetime. Null: portal.session_lifetime after they began.';
