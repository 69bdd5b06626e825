-- How many sign-ins and texts there were, by the hour: what the overview adds up, however many rows the logs have. A periodic task counts what came in
-- since it last did. Nobody who signs in or is texted waits for it, and no row is shared by parallel sign-ins.

create table sign_in_hours (
    company_id uuid not null,
    hour timestamptz not null,
    method text not null,
    -- signed_in, or the code of the problem it was refused with
    outcome text not null,
    total bigint not null,
    constraint sign_in_hours_pkey primary key (company_id, hour, method, outcome)
);
create index sign_in_hours_age on sign_in_hours (hour);
comment on table sign_in_hours is 'Sign-ins and refused ones of each hour.';

create table text_hours (
    store_id uuid not null,
    company_id uuid not null,
    hour timestamptz not null,
    status text not null,
    -- of a text that was not sent: the rule that decided, or empty
    rule text not null,
    total bigint not null,
    constraint text_hours_pkey primary key (company_id, hour, store_id, status, rule)
);
create index text_hours_age on text_hours (hour);
comment on table text_hours is 'Texts of each hour, by the verdict of the guard.';

-- Until when the logs are counted. The row is locked by whoever counts, so that nothing is counted twice.
create table sign_ins_counted (
    counted_until timestamptz not null,
    only_row boolean not null default true,
    constraint sign_ins_counted_pkey primary key (only_row),
    constraint sign_ins_counted_is_one check (only_row)
);
insert into sign_ins_counted (counted_until) values ('1970-01-01');
comment on table sign_ins_counted is 'Sign-ins before this instant are in sign_in_hours.';

create table texts_counted_until (
    counted_until timestamptz not null,
    only_row boolean not null default true,
    constraint texts_counted_until_pkey primary key (only_row),
    constraint texts_counted_until_is_one check (only_row)
);
insert into texts_counted_until (counted_until) values ('1970-01-01');
comment on table texts_counted_until is 'Texts before this instant are in text_hours.';
