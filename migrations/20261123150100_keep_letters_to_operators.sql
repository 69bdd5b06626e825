-- What operators are to be told by mail: kept until the mail server has taken it.
create table operator_letters (
    id uuid not null,
    subscription_id uuid not null,
    address text not null,
    subject text not null,
    body text not null,
    -- tries that failed
    failures smallint not null default 0,
    -- when it is tried next; of one that is being tried, when it may be tried by somebody else
    due_at timestamptz not null,
    constraint operator_letters_pkey primary key (id),
    constraint operator_letters_latest unique (subscription_id, address),
    constraint operator_letters_subscription_id_fkey foreign key (subscription_id) references subscriptions (id)
);
create index operator_letters_due on operator_letters (due_at);
comment on table operator_letters is
    'Letters to operators that have not been sent: to each address the latest about each webhook. One that is sent, or given up, is deleted.';
