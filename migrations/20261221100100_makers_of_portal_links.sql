-- A portal link ends with the API key or the operator that has made it, however they end.

alter table portal_links add column maker text, add column maker_id uuid;
comment on column portal_links.maker is
    'What has said how long the link can be opened, as in changes.caller. Null: a link that is older than the column, which ends by itself.';
comment on column portal_links.maker_id is 'The API key or the operator. Not a foreign key: what they may do is looked up at every use.';
