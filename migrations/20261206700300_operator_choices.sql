-- A person may be an operator of several companies, and chooses one of them after the first factor.
create table operator_choices (
    -- SHA-256 of the secret in the cookie
    digest bytea not null,
    operator_id uuid not null,
    method text not null,
    provider_issuer text,
    provider_subject text,
    expires_at timestamptz not null,
    constraint operator_choices_pkey primary key (digest, operator_id),
    constraint operator_choices_operator_id_fkey foreign key (operator_id) references operators (id) on delete cascade,
    constraint operator_choices_method_known check (method in ('password', 'link', 'oidc')),
    constraint operator_choices_person_whole check ((provider_issuer is null) = (provider_subject is null))
);
create index operator_choices_of_operator on operator_choices (operator_id);
create index operator_choices_expires_at on operator_choices (expires_at);
comment on table operator_choices is 'Operators of several companies who have the same address: a browser that has proven the first factor goes on as one of them.';
comment on column operator_choices.digest is 'The same for all operators among whom is chosen.';
comment on column operator_choices.method is 'How the first factor was proven.';
comment on column operator_choices.provider_issuer is 'The issuer of the identity provider, if choosing accepts an invitation and binds it to a person there.';
comment on column operator_choices.provider_subject is 'The id of that person.';
