-- The order in which whoever reads along sees the events of a company: 1, 2, 3 …, in the order in which they leave the outbox. One statement at a
-- time fans out the events of a company, so a number is visible before the next one is given, and nothing can appear behind a reader. Unlike the id
-- of a transaction, a number says nothing of the server: it waits for no transaction of others, survives a restore, and can be moved.

create table feed (
    company_id uuid not null,
    number bigint not null,
    event_id uuid not null,
    constraint feed_pkey primary key (event_id)
) partition by range (event_id);
create index feed_in_order on feed (company_id, number);
create table feed_default partition of feed default;
comment on table feed is 'The events of each company in the order of reading along. Partitioned by the day of the event, like events.';

create table feed_heads (
    company_id uuid not null,
    last bigint not null,
    constraint feed_heads_pkey primary key (company_id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
comment on table feed_heads is 'The last number that was given in the feed of a company. Its row is locked until the fan-out commits that numbers.';

create view event_feed as
select feed.company_id, feed.number, events.id, events.name, events.sequence, events.body, events.addressed_to
from feed join events on events.id = feed.event_id;
comment on view event_feed is 'Events as whoever reads along sees them, in the order of number.';

create view event_feed_heads as select company_id, last from feed_heads;
comment on view event_feed_heads is 'How far the feed of a company goes.';

-- Events from before there were numbers come first, in the order of their transactions. All others without a number are still in the outbox.
create view unnumbered_events as
select company_id, id, name, sequence, body, addressed_to, transaction_id, place,
       exists (select from outbox where outbox.company_id = events.company_id and outbox.event_id = events.id) as waits
from events where not exists (select from feed where feed.event_id = events.id);
comment on view unnumbered_events is 'Events that have not been fanned out (waits), or were fanned out before there was a feed.';

-- An instance of the version before does not number what it fans out. Tests, which are for one subscription, are not numbered at all.
create function number_for_earlier_version() returns trigger language plpgsql as $$
begin
    with entry as (
        select position, company_id, event_id from gone
        where not exists (select from events where events.id = event_id and addressed_to is not null)
    ), head as (
        insert into feed_heads as heads (company_id, last)
        select company_id, count(*) from entry group by company_id order by company_id
        on conflict (company_id) do update set last = heads.last + excluded.last
        returning company_id, last
    )
    insert into feed (company_id, number, event_id)
    select company_id, last + 1 - row_number() over (partition by company_id order by position desc), event_id from entry join head using (company_id);
    return null;
end
$$;
create trigger number_for_earlier_version after delete on outbox referencing old table as gone for each statement
    when (current_setting('portico.numbers_feed', true) is distinct from 'on') execute function number_for_earlier_version();
comment on trigger number_for_earlier_version on outbox is 'Whoever numbers what leaves the outbox says so in portico.numbers_feed.';
