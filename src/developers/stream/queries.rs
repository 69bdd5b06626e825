//! The SQL of streams: the feed of a company, in the order of its numbers.

use crate::kernel::database::{Connection, column};
use crate::kernel::ids::{CompanyId, EventId};
use crate::webhooks::EventFilter;

/// The maximum number of events read for one page, including filtered ones.
pub(super) const MAX_SCANNED_EVENTS: i64 = 500;
/// The maximum number of bytes in one page, not counting its last event.
pub(super) const MAX_PAGE_BYTES: i64 = 256 * 1024;

/// An event that was read, wanted or not.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) id: EventId,
    pub(super) name: String,
    pub(super) sequence: Option<i64>,
    /// The body, if the event is wanted.
    pub(super) body: Option<Vec<u8>>,
}

/// How far the feeds of companies go. A company without any event is missing.
pub(super) async fn find_heads(conn: &mut Connection, companies: &[CompanyId]) -> Result<Vec<(CompanyId, i64)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"select company_id as "company!: CompanyId", last as "last!" from event_feed_heads where company_id = any($1)"#,
        &column(companies, |company| company.uuid()),
    );
    Ok(rows.fetch_all(conn).await?.into_iter().map(|row| (row.company, row.last)).collect())
}

/// The last event of a feed, with its number.
pub(super) async fn find_last(conn: &mut Connection, company: CompanyId) -> Result<Option<(EventId, i64)>, sqlx::Error> {
    let row = sqlx::query!(
        r#"select id as "id!: EventId", number as "number!" from event_feed where company_id = $1 order by number desc limit 1"#,
        company.uuid(),
    );
    Ok(row.fetch_optional(conn).await?.map(|row| (row.id, row.number)))
}

/// The first event of a feed that is still kept, with its number.
pub(super) async fn find_first(conn: &mut Connection, company: CompanyId) -> Result<Option<(EventId, i64)>, sqlx::Error> {
    let row = sqlx::query!(
        r#"select id as "id!: EventId", number as "number!" from event_feed where company_id = $1 order by number limit 1"#,
        company.uuid(),
    );
    Ok(row.fetch_optional(conn).await?.map(|row| (row.id, row.number)))
}

/// The number behind which the stream after an event goes on, and whether the event itself is still to come: it waits in the outbox. `None` if the
/// company has no such event, or it is from before there was a feed.
pub(super) async fn find_position(conn: &mut Connection, company: CompanyId, event: EventId) -> Result<Option<(i64, bool)>, sqlx::Error> {
    let row = sqlx::query!(
        r#"select coalesce(numbered.number, before_test.number) as "number?", waits as "waits?", is_test as "is_test?",
                  coalesce((select last from event_feed_heads where company_id = $2), 0) as "last!"
           from (select) as one
           left join (select number from event_feed where id = $1 and company_id = $2) as numbered on true
           left join (
                select waits, addressed_to is not null as is_test from unnumbered_events where id = $1 and company_id = $2
           ) as unnumbered on true
           -- A test is never numbered: the stream goes on behind what was made before it.
           left join lateral (
                select number from event_feed where is_test and company_id = $2 and id < $1 order by number desc limit 1
           ) as before_test on true"#,
        event.uuid(),
        company.uuid(),
    );
    let row = row.fetch_one(conn).await?;
    Ok(match (row.number, row.waits) {
        (Some(number), _) => Some((number, false)),
        (None, Some(true)) => Some((row.last, true)),
        (None, _) => row.is_test.unwrap_or(false).then_some((0, false)),
    })
}

/// The next events behind the one with a number, and the number of the last of them.
pub(super) async fn list_page(
    conn: &mut Connection,
    company: CompanyId,
    wanted: &EventFilter,
    behind: i64,
) -> Result<Option<(Vec<Seen>, i64)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"with scanned as (
             select number, id, name, sequence, body,
                    addressed_to is null
                    and (cardinality($3::text[]) = 0 or $3 && array['*', name, split_part(name, '.', 1) || '.*']) as wanted
             from event_feed where company_id = $1 and number > $2 order by number limit $4
         ), measured as (
             select *, sum(case when wanted then octet_length(body) else 0 end)
                       over (order by number rows between unbounded preceding and 1 preceding) as before
             from scanned
         )
         select number as "number!", id as "id!: EventId", name as "name!", sequence, case when wanted then body end as body
         from measured where coalesce(before, 0) < $5 order by number"#,
        company.uuid(),
        behind,
        wanted as &EventFilter,
        MAX_SCANNED_EVENTS,
        MAX_PAGE_BYTES,
    )
    .fetch_all(conn)
    .await?;
    let Some(last) = rows.last().map(|row| row.number) else { return Ok(None) };
    let seen = rows.into_iter().map(|row| Seen { id: row.id, name: row.name, sequence: row.sequence, body: row.body });
    Ok(Some((seen.collect(), last)))
}
