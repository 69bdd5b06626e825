-- Operators are records of the API. They are invited by mail, choose their password themselves, and may have to prove a second factor.

alter table operators
    add column version bigint not null default 1,
    add column updated_at timestamptz,
    add column deleted_at timestamptz,
    add column name text,
    add column language text not null default 'en',
    add column accepted_at timestamptz,
    add column disabled_at timestamptz,
    add column last_signed_in_at timestamptz,
    add column sealed_totp_secret bytea,
    add column totp_enabled_at timestamptz,
    add column totp_last_step bigint,
    add constraint operators_language_known check (language in ('en', 'de')),
    alter column password_hash drop not null;
-- Whoever exists has got a password from the command line.
update operators set updated_at = created_at, accepted_at = created_at;
alter table operators
    alter column updated_at set not null,
    drop constraint operators_email_key;
create unique index operators_email_key on operators (email) where deleted_at is null;
create index operators_of_company on operators (company_id, created_at, id);
create index operators_of_company_by_email on operators (company_id, email, created_at, id);
drop index operators_company_id;
comment on column operators.language is 'The language of mails to the operator.';
comment on column operators.password_hash is 'Argon2id, PHC string. Null until the operator has chosen one.';
comment on column operators.accepted_at is 'When the operator first proved to be the one who was invited.';
comment on column operators.last_signed_in_at is 'When a session last began. No change of the record.';
comment on column operators.sealed_totp_secret is 'The secret of the authenticator app, encrypted. Without totp_enabled_at, it waits for its first code.';
comment on column operators.totp_last_step is 'The step (30 s since 1970) of the last code that was accepted. Only later ones are accepted after it.';

alter table operator_sessions add column method text not null default 'password';
alter table operator_sessions alter column method drop default;
alter table operator_sessions add constraint operator_sessions_method_known check (method in ('password', 'link', 'oidc'));
comment on column operator_sessions.method is 'The proof by which it began. A second factor that was asked for was proven too.';

alter table operator_links add column purpose text not null default 'sign_in';
alter table operator_links alter column purpose drop default;
alter table operator_links add column method text;
alter table operator_links add constraint operator_links_purpose_known check (purpose in ('sign_in', 'password', 'second_step'));
create index operator_links_of_operator on operator_links (operator_id);
comment on table operator_links is 'Secrets that an operator can use once: links that sign in, links to choose a password, and the step between password and second factor.';
comment on column operator_links.method is 'How the first factor was proven, for second steps.';

create table operator_recovery_codes (
    operator_id uuid not null,
    -- HMAC-SHA256 of the code under the application key
    digest bytea not null,
    constraint operator_recovery_codes_pkey primary key (operator_id, digest),
    constraint operator_recovery_codes_operator_id_fkey foreign key (operator_id) references operators (id) on delete cascade
);
comment on table operator_recovery_codes is 'Codes that stand in for the authenticator app, each once.';

create table operator_mails (
    operator_id uuid not null,
    failures integer not null default 0,
    due_at timestamptz not null,
    constraint operator_mails_pkey primary key (operator_id),
    constraint operator_mails_operator_id_fkey foreign key (operator_id) references operators (id) on delete cascade
);
create index operator_mails_due_at on operator_mails (due_at);
comment on table operator_mails is 'Mails with a link to choose a password that are still to be sent. The link is made when its mail is.';
