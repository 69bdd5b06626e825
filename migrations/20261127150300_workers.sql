-- A delivery in flight names its worker, so that what a dead one had comes back as soon as its end is certain. Versions that know nothing of it
-- leave the name out; what they have in flight comes back when its lease has run out.
create table workers (
    id uuid not null,
    beats bigint not null,
    constraint workers_pkey primary key (id)
) with (fillfactor = 50);
comment on table workers is 'The workers of all instances, each of which counts up its row every two seconds. One that does not is dead, and is removed.';

alter table in_flight add column worker uuid;
comment on column in_flight.worker is 'Who sends it; null if that is a version that did not say so.';
