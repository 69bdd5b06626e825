-- A cookie can be copied: what decides who gets in asks for a proof that is not old. Operators are told what happens to their access. Sign-ins with the
-- identity provider are those of a person there, and not of an address.

alter table operator_sessions add column proven_at timestamptz;
comment on column operator_sessions.proven_at is 'When the operator last proved again who they are. Null: at the sign-in.';

alter table operators add column provider_issuer text, add column provider_subject text;
alter table operators add constraint operators_binding_whole check ((provider_issuer is null) = (provider_subject is null)) not valid;
comment on column operators.provider_issuer is 'The issuer of the identity provider that the operator signs in with. Null until they first do.';
comment on column operators.provider_subject is 'Their id at the provider. Another one with their address is somebody else.';

create table operator_notices (
    id uuid not null,
    operator_id uuid not null,
    about text not null,
    detail text,
    happened_at timestamptz not null,
    failures integer not null default 0,
    due_at timestamptz not null,
    constraint operator_notices_pkey primary key (id),
    constraint operator_notices_operator_id_fkey foreign key (operator_id) references operators (id) on delete cascade,
    constraint operator_notices_about_known check (
        about in (
            'sign_in', 'password', 'second_factor_added', 'second_factor_removed', 'recovery_codes', 'provider', 'role', 'admin_key'
        )
    )
);
create index operator_notices_due_at on operator_notices (due_at);
create index operator_notices_of_operator on operator_notices (operator_id);
comment on table operator_notices is 'Mails that tell an operator what happened to their access or their company, and are still to be sent.';
comment on column operator_notices.detail is 'What the words need: an address of a client, the id of a key, an operator and their role.';
