//! The SQL of streams: events in the order of their transactions, no further than everything is there.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use crate::developers::stream::position::Position;
use crate::kernel::ids::{CompanyId, EventId};
use crate::webhooks::EventsWanted;

/// Events that are looked at for one page, wanted or not.
const SCANNED: i64 = 500;
/// Bytes that one page holds, beside its last event.
const PAGE: i64 = 256 * 1024;

/// An event that was looked at.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) id: EventId,
    pub(super) name: String,
    pub(super) sequence: Option<i64>,
    pub(super) transaction: i64,
    pub(super) place: i64,
    /// When it is wanted.
    pub(super) body: Option<Vec<u8>>,
}

/// Events are looked for among those of so long: whoever was longer about an event than that has it found by each stream for itself.
const RECENT: TimeDelta = TimeDelta::days(1);

/// Who has events that were not there at the last look.
#[derive(Debug)]
pub(super) struct News {
    pub(super) companies: Vec<CompanyId>,
    /// The oldest transaction that was still open.
    pub(super) looked_until: i64,
}

/// Which of `companies` have events from transactions that were not over at the last look.
pub(super) async fn look_for_news(
    conn: &mut PgConnection,
    companies: &[CompanyId],
    looked_until: i64,
    now: DateTime<Utc>,
) -> Result<News, sqlx::Error> {
    sqlx::query_as!(
        News,
        r#"select array(
             select company_id from unnest($1::uuid[]) as open (company_id)
             cross join lateral (
                 select from events
                 where events.company_id = open.company_id and id >= uuid_v7_floor($3)
                   and transaction_id >= $2::bigint::text::xid8 and transaction_id < pg_snapshot_xmin(pg_current_snapshot())
                 order by transaction_id, place limit 1
             ) as first
           ) as "companies!: Vec<CompanyId>", pg_snapshot_xmin(pg_current_snapshot())::text::bigint as "looked_until!""#,
        companies as &[CompanyId],
        looked_until,
        now - RECENT,
    )
    .fetch_one(conn)
    .await
}

/// The last event that a stream could have told.
pub(super) async fn find_last_event(conn: &mut PgConnection, company: CompanyId) -> Result<Option<EventId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select id as "id: EventId" from events
         where company_id = $1 and transaction_id < pg_snapshot_xmin(pg_current_snapshot())
         order by transaction_id desc, place desc limit 1"#,
        company.uuid(),
    )
    .fetch_optional(conn)
    .await
}

/// Behind an event. One from a transaction that is still to come was copied here from another server, whose transactions say nothing here.
pub(super) async fn find_position(conn: &mut PgConnection, company: CompanyId, event: EventId) -> Result<Option<Position>, sqlx::Error> {
    sqlx::query_as!(
        Position,
        r#"select transaction_id::text::bigint as "transaction!", place from events
         where id = $1 and company_id = $2 and transaction_id < pg_snapshot_xmax(pg_current_snapshot())"#,
        event.uuid(),
        company.uuid(),
    )
    .fetch_optional(conn)
    .await
}

/// The next events behind `position`.
pub(super) async fn list_page(
    conn: &mut PgConnection,
    company: CompanyId,
    wanted: &EventsWanted,
    position: Position,
) -> Result<Vec<Seen>, sqlx::Error> {
    sqlx::query_as!(
        Seen,
        r#"with scanned as (
             select id, name, sequence, body, transaction_id, place,
                    addressed_to is null
                    and (cardinality($4::text[]) = 0 or $4 && array['*', name, split_part(name, '.', 1) || '.*']) as wanted
             from events
             where company_id = $1 and (transaction_id, place) > ($2::bigint::text::xid8, $3)
               and transaction_id < pg_snapshot_xmin(pg_current_snapshot())
             order by transaction_id, place limit $5
         ), measured as (
             select *, sum(case when wanted then octet_length(body) else 0 end)
                       over (order by transaction_id, place rows between unbounded preceding and 1 preceding) as before
             from scanned
         )
         select id, name, sequence, transaction_id::text::bigint as "transaction!", place, case when wanted then body end as body
         from measured where coalesce(before, 0) < $6 order by transaction_id, place"#,
        company.uuid(),
        position.transaction,
        position.place,
        wanted as &EventsWanted,
        SCANNED,
        PAGE,
    )
    .fetch_all(conn)
    .await
}
