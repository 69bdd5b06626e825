-- Owners are told of what an operator makes or moves that goes on after the session: a webhook, a provider.

alter table operator_notices drop constraint operator_notices_about_known;
alter table operator_notices add constraint operator_notices_about_known check (
    about in (
        'sign_in', 'password', 'second_factor_added', 'second_factor_removed', 'recovery_codes', 'provider', 'role', 'admin_key', 'destination'
    )
) not valid;
comment on column operator_notices.detail is
    'What the words need: an address of a client, the id of a key or of another record, an operator and their role.';
