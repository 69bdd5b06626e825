-- Transactions at payment gateways, as their callbacks tell them.
--
-- Every callback writes an entry into each index, so one index serves both uniqueness and the lists: a company has few records with the same key or
-- transaction, and they are sorted when they are read.

-- What came to POST /webhooks.
create table callbacks (
    id uuid not null,
    company_id uuid not null,
    version bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    deleted_at timestamptz,
    -- null for a refused one that named no gateway of the company
    gateway_id uuid,
    -- the gateway's id of the event, or sha256: and the digest of the body
    key text not null,
    kind text,
    status text not null,
    reason text,
    detail text,
    -- a refused one is kept only in part: body_size is what it was
    body bytea not null,
    body_size integer not null,
    attempts smallint not null,
    -- when processing is tried again
    due_at timestamptz,
    constraint callbacks_pkey primary key (id),
    constraint callbacks_status_known check (status in ('refused', 'ignored', 'failed', 'processed')),
    constraint callbacks_genuine_has_gateway check (status = 'refused' or gateway_id is not null),
    constraint callbacks_due_failed check (due_at is null or status = 'failed')
);
create index callbacks_of_company on callbacks (company_id, created_at, id);
create index callbacks_of_company_by_gateway on callbacks (company_id, gateway_id, created_at, id)
    where deleted_at is null and gateway_id is not null;
create index callbacks_of_company_by_status on callbacks (company_id, status, created_at, id) where deleted_at is null;
create index callbacks_of_company_by_reason on callbacks (company_id, reason, created_at, id)
    where deleted_at is null and reason is not null;
create index callbacks_due on callbacks (due_at) where due_at is not null;
create index callbacks_refused on callbacks (created_at) where status = 'refused';
-- A genuine callback is recorded once; a refused one proves nothing and takes nobody's place: the gateway is null for refused callbacks, which may be
-- repeated.
-- Made last: of indexes that look equally good while the table is empty, PostgreSQL takes the newest, and keeps the plan while the table grows.
create unique index callbacks_once on callbacks (company_id, key, (case when status <> 'refused' then gateway_id end));
comment on table callbacks is 'What payment gateways, or others in their name, have sent.';
comment on column callbacks.gateway_id is 'The gateway that signed the callback or, if it was refused, the one it was sent for. No foreign key: see the trigger gateways_stay.';
comment on column callbacks.kind is 'The type of the event, in the words of the gateway.';
comment on column callbacks.reason is 'Why it was refused or could not be processed.';

-- A payment belongs to the gateway of its callbacks.
create table payments (
    id uuid not null,
    company_id uuid not null,
    version bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    deleted_at timestamptz,
    gateway_id uuid not null,
    -- the gateway's own name for it
    transaction_id text not null,
    kind text not null,
    status text not null,
    -- in minor units of the currency
    amount bigint,
    refunded bigint not null,
    currency text,
    dispute text,
    order_id uuid,
    customer_id uuid,
    constraint payments_pkey primary key (id),
    constraint payments_kind_known check (kind in ('payment', 'setup')),
    constraint payments_status_known
        check (status in ('pending', 'failed', 'succeeded', 'partially_refunded', 'refunded', 'disputed')),
    constraint payments_dispute_known check (dispute in ('open', 'lost', 'won')),
    constraint payments_amounts_positive check (amount >= 0 and refunded >= 0)
);
create index payments_of_company on payments (company_id, created_at, id);
create index payments_of_company_by_gateway on payments (company_id, gateway_id, created_at, id) where deleted_at is null;
create index payments_of_company_by_status on payments (company_id, status, created_at, id) where deleted_at is null;
create index payments_of_company_by_customer on payments (company_id, customer_id, created_at, id)
    where deleted_at is null and customer_id is not null;
create index payments_of_order on payments (order_id) where order_id is not null;
-- Made last: of indexes that look equally good while the table is empty, PostgreSQL takes the newest, and keeps the plan while the table grows.
alter table payments add constraint payments_transaction_key unique (company_id, transaction_id, gateway_id);
comment on table payments is 'One row per transaction of a gateway. Everything behind transaction_id follows from payment_facts and from nothing else.';

-- Whoever adds to what is told of a payment has read what was told before, and says so by the numbers of the new facts. Of two that do so
-- at the same moment one finds its number taken, and reads again; so no row is locked while anybody thinks. A fact is written by the statement that
-- writes its callback and its payment, and neither ever goes.
create table payment_facts (
    callback_id uuid not null,
    -- a callback may tell several things
    position smallint not null,
    payment_id uuid not null,
    sequence integer not null,
    fact text not null,
    -- which attempt, refund or dispute; empty where a payment has only one
    reference text not null,
    amount bigint,
    -- of a fact about all refunds together: their sum
    total bigint,
    currency text,
    order_id uuid,
    customer_id uuid,
    message text,
    recorded_at timestamptz not null,
    constraint payment_facts_pkey primary key (callback_id, position),
    constraint payment_facts_sequence_key unique (payment_id, sequence)
);
comment on table payment_facts is 'What callbacks have told about payments; only ever added to.';
comment on column payment_facts.sequence is '1, 2, 3 … among the facts about the payment, in the order in which they were told.';
