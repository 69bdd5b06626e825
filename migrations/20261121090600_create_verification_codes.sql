-- Verification codes, the tally of wrong ones, and the texts that carried them.
create table verification_codes (
    -- part of what the digest covers; a new code has a new id
    id uuid not null,
    store_id uuid not null,
    purpose text not null,
    -- the identity the code was asked for
    identity text not null,
    -- the identity it was sent to, when the text could not be sent and a mail was
    sent_to text not null,
    channel text not null,
    -- who asked while signed in
    requested_by uuid,
    -- whose account the code opens
    customer_id uuid,
    -- HMAC-SHA256 under the application key over (id, digits)
    digest bytea not null,
    issued_at timestamptz not null,
    expires_at timestamptz not null,
    guesses integer not null default 0,
    used_at timestamptz,
    constraint verification_codes_pkey primary key (id),
    -- one row for each, so that a new code replaces the older one
    constraint verification_codes_key unique nulls not distinct (store_id, purpose, identity, requested_by),
    constraint verification_codes_store_id_fkey foreign key (store_id) references stores (id),
    constraint verification_codes_requested_by_fkey foreign key (requested_by) references customers (id),
    constraint verification_codes_customer_id_fkey foreign key (customer_id) references customers (id),
    constraint verification_codes_purpose_known check (purpose in ('create_account', 'sign_in', 'verify_phone', 'close_account')),
    constraint verification_codes_channel_known check (channel in ('sms', 'email'))
);
create index verification_codes_sent_to on verification_codes (store_id, sent_to);
comment on table verification_codes is 'The latest code of each purpose and identity; the digits themselves are nowhere.';

create table wrong_codes (
    store_id uuid not null,
    identity text not null,
    -- since the last right code, the last lock-out or an hour without any; past ten while locked out
    wrong integer not null,
    last_wrong_at timestamptz not null,
    locked_out_until timestamptz,
    constraint wrong_codes_pkey primary key (store_id, identity),
    constraint wrong_codes_store_id_fkey foreign key (store_id) references stores (id)
);
comment on table wrong_codes is 'Wrong codes for one identity, whatever the code, the purpose and the address they came from.';

create table texts (
    id uuid not null,
    store_id uuid not null,
    code_id uuid,
    number text not null,
    -- all but the last four digits of the number
    number_range text not null,
    -- ISO 3166 code of the number's country, where it has one
    country text,
    status text not null,
    -- why it was refused, in the words of the problem codes
    refusal text,
    created_at timestamptz not null,
    -- when its code was used
    used_at timestamptz,
    constraint texts_pkey primary key (id),
    constraint texts_store_id_fkey foreign key (store_id) references stores (id),
    constraint texts_status_known check (status in ('sent', 'given_back', 'refused')),
    constraint texts_refusal_explained check ((status = 'refused') = (refusal is not null))
);
create index texts_counted on texts (store_id, created_at) where status = 'sent';
create index texts_of_code on texts (code_id) where status = 'sent';
comment on table texts is 'Every text the SMS guard let through or refused: its log and its counters in one.';
comment on column texts.status is 'sent: counted, before the provider is asked; given_back: the provider did not take it, and it counts no more.';
