-- What a customer is told about the account, and the devices that a sign-in is no news from.

create table notices (
    id uuid not null,
    store_id uuid not null,
    customer_id uuid not null,
    -- what happened, in the words of the files of messages
    about text not null,
    channel text not null,
    status text not null,
    created_at timestamptz not null,
    constraint notices_pkey primary key (id),
    constraint notices_store_id_fkey foreign key (store_id) references stores (id),
    constraint notices_customer_id_fkey foreign key (customer_id) references customers (id),
    constraint notices_channel_known check (channel in ('sms', 'email')),
    constraint notices_status_known check (status in ('sent', 'not_sent', 'refused', 'limited'))
);
create index notices_of_customer on notices (customer_id, created_at);
create index notices_age on notices (created_at);
comment on table notices is 'Messages that told customers what happened to their accounts; neither recipient nor words. Kept 90 days.';
comment on column notices.status is
    'sent: handed to a provider or the mail server; not_sent: none took it; refused: by the SMS guard; limited: too many of its kind on one day.';

create table seen_devices (
    customer_id uuid not null,
    -- browser or app, system, and the name that the app gives the device
    device text not null,
    store_id uuid not null,
    last_seen_at timestamptz not null,
    constraint seen_devices_pkey primary key (customer_id, device),
    constraint seen_devices_customer_id_fkey foreign key (customer_id) references customers (id),
    constraint seen_devices_store_id_fkey foreign key (store_id) references stores (id)
);
comment on table seen_devices is 'The kinds of devices that a customer has signed in from, the latest only; a sign-in from another one is told to the customer.';
