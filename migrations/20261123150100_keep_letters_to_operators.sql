-- Mails to operators, stored until a mail server has accepted them.
create table operator_letters (
    id uuid not null,
    subscription_id uuid not null,
    address text not null,
    subject text not null,
    body text not null,
    -- failed attempts
    failures smallint not null default 0,
    -- the time of the next attempt; during an attempt, the time when its lease expires and another worker may retry
    due_at timestamptz not null,
    constraint operator_letters_pkey primary key (id),
    constraint operator_letters_latest unique (subscription_id, address),
    constraint operator_letters_subscription_id_fkey foreign key (subscription_id) references subscriptions (id)
);
create index operator_letters_due on operator_letters (due_at);
comment on table operator_letters is
    'Letters to operators that have not been sent: to each address the latest about each webhook. One that is sent, or given up, is deleted.';
