-- Secrets that are sent to an address of their row are sealed for it.
comment on column subscriptions.sealed_headers is
    'The further headers as a JSON object, encrypted under the application key for this row and the origin of its url. Null: there are none.';
comment on column message_providers.secret is
    'The secret that the kind needs, encrypted under the application key for this row and the address in its settings; never returned.';
comment on column identity_providers.client_secret is
    'The secret of the client, encrypted under the application key for this row and the origins of token_url and graph_url; never returned.';
