-- The wording of texts and mails of companies, over that of the deployment.
create table message_wordings (
    id uuid not null,
    company_id uuid not null,
    version bigint not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    deleted_at timestamptz,
    language text not null,
    messages jsonb not null default '{}',
    constraint message_wordings_pkey primary key (id),
    constraint message_wordings_company_id_fkey foreign key (company_id) references companies (id) on delete cascade
);
create unique index message_wordings_language on message_wordings (company_id, language) where deleted_at is null;
create index message_wordings_of_company on message_wordings (company_id, created_at, id);
comment on table message_wordings is 'What the stores of companies say in texts and mails, in place of the words of the deployment.';
comment on column message_wordings.language is 'The tag of the language, in lower case.';
comment on column message_wordings.messages is 'The entries that differ, by purpose: text, subject and mail of each.';
