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
    constraint verification_codes_purpose_known
        check (purpose in ('create_account', 'sign_in', 'verify_phone', 'verify_email', 'close_account')),
    constraint verification_codes_channel_known check (channel in ('sms', 'email'))
);
create index verification_codes_sent_to on verification_codes (store_id, sent_to);
-- What a customer asked for, and what opens their account, is looked up by them alone.
create index verification_codes_requested_by on verification_codes (requested_by) where requested_by is not null;
create index verification_codes_customer_id on verification_codes (customer_id) where customer_id is not null;
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
    number text,
    -- all but the last four digits of the number; a text to an invalid number is refused, too, and has no range
    number_range text,
    -- ISO 3166 code of the number's country, where it has one
    country text,
    status text not null,
    -- why it was refused, in the words of the problem codes
    refusal text,
    -- why it was not sent: the rule that refused it and the values it decided on, or the errors of the providers
    rule text,
    reason text,
    details jsonb,
    created_at timestamptz not null,
    -- when its code was used
    used_at timestamptz,
    constraint texts_pkey primary key (id),
    constraint texts_store_id_fkey foreign key (store_id) references stores (id),
    constraint texts_status_known check (status in ('sent', 'given_back', 'refused')),
    constraint texts_refusal_explained check (
        case status when 'sent' then refusal is null when 'refused' then refusal is not null else true end
    ),
    constraint texts_rule_known check (rule in (
        'texts_paused', 'pumping', 'number_format', 'line_type', 'text_countries', 'unproven_number', 'seconds_between_texts',
        'texts_per_number_and_hour', 'texts_per_number_and_day', 'numbers_per_range', 'texts_per_day', 'no_provider', 'provider_answers'
    )),
    -- texts that no provider accepted have a reason, too
    constraint texts_rule_explained check (rule is null or (refusal is not null and reason is not null))
);
create index texts_counted on texts (store_id, created_at) where status = 'sent';
create index texts_of_code on texts (code_id) where status = 'sent';
-- What was texted to a number: how the entries of a customer who is erased are found.
create index texts_of_number on texts (store_id, number);
comment on table texts is 'Every text the SMS guard let through or refused: its log and its counters in one.';
comment on column texts.number is 'E.164; null where no number could be read, and once the account it belonged to is erased. The range stays, for the conversion of ranges.';
comment on column texts.status is 'sent: counted, before the provider is asked; given_back: the provider did not take it, and it counts no more.';
comment on column texts.refusal is 'The problem code that the request was answered with, where no mail took the place of the text.';
comment on column texts.rule is 'Which rule refused the text; a limit has the name of the setting of the store.';
comment on column texts.reason is 'The same in a sentence for operators.';
comment on column texts.details is 'What the rule saw: limit, seen and until of a limit; texted and used of a pause by the guard; paused_at and paused_reason; providers and their answers.';

-- In the form that every resource is read in.
create view text_log as
select texts.id, stores.company_id, texts.store_id, texts.number, texts.number_range, texts.country, texts.status, texts.refusal, texts.rule,
       texts.reason, texts.details, texts.used_at, texts.created_at, coalesce(texts.used_at, texts.created_at) as updated_at,
       1::bigint as version, null::timestamptz as deleted_at
from texts join stores on stores.id = texts.store_id;
comment on view text_log is 'Every text the SMS guard let through or refused, with the company it belongs to.';
