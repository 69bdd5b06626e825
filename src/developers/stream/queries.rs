//! The SQL of streams: events in the order of their transactions, up to the oldest open transaction.

use chrono::{DateTime, TimeDelta, Utc};

use crate::developers::stream::position::Position;
use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, EventId};
use crate::webhooks::EventFilter;

/// The maximum number of events read for one page, including filtered ones.
const MAX_SCANNED_EVENTS: i64 = 500;
/// The maximum number of bytes in one page, not counting its last event.
const MAX_PAGE_BYTES: i64 = 256 * 1024;

/// An event that was read, wanted or not.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) id: EventId,
    pub(super) name: String,
    pub(super) sequence: Option<i64>,
    pub(super) transaction: i64,
    pub(super) place: i64,
    /// The body, if the event is wanted.
    pub(super) body: Option<Vec<u8>>,
}

/// Only events of this period are searched. An event of a longer transaction is found by the streams' own polling.
const RECENT: TimeDelta = TimeDelta::days(1);

/// The companies that have events which the last poll did not see.
#[derive(Debug)]
pub(super) struct CommitNotifier {
    pub(super) companies: Vec<CompanyId>,
    /// The oldest open transaction.
    pub(super) polled_until: i64,
}

/// Finds those of `companies` that have events of transactions which had not ended at the last poll.
pub(super) async fn find_companies_with_news(
    conn: &mut Connection,
    companies: &[CompanyId],
    polled_until: i64,
    now: DateTime<Utc>,
) -> Result<CommitNotifier, sqlx::Error> {
    sqlx::query_as!(
        CommitNotifier,
        r#"select array(
             select company_id from unnest($1::uuid[]) as open (company_id)
             cross join lateral (
                 select from event_stream
                 where event_stream.company_id = open.company_id and id >= uuid_v7_floor($3)
                   and transaction_id >= $2::bigint::text::xid8 and transaction_id < pg_snapshot_xmin(pg_current_snapshot())
                 order by transaction_id, place limit 1
             ) as first
           ) as "companies!: Vec<CompanyId>", pg_snapshot_xmin(pg_current_snapshot())::text::bigint as "polled_until!""#,
        companies as &[CompanyId],
        polled_until,
        now - RECENT,
    )
    .fetch_one(conn)
    .await
}

/// The last event that a stream could have sent.
pub(super) async fn find_last_event(conn: &mut Connection, company: CompanyId) -> Result<Option<EventId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select id as "id!: EventId" from event_stream
         where company_id = $1 and transaction_id < pg_snapshot_xmin(pg_current_snapshot())
         order by transaction_id desc, place desc limit 1"#,
        company.uuid(),
    )
    .fetch_optional(conn)
    .await
}

/// The position after an event. An event with a future transaction id was restored from another server, whose transaction ids are
/// meaningless here.
pub(super) async fn find_position(conn: &mut Connection, company: CompanyId, event: EventId) -> Result<Option<Position>, sqlx::Error> {
    sqlx::query_as!(
        Position,
        r#"select transaction_id::text::bigint as "transaction!", place as "place!" from event_stream
         where id = $1 and company_id = $2 and transaction_id < pg_snapshot_xmax(pg_current_snapshot())"#,
        event.uuid(),
        company.uuid(),
    )
    .fetch_optional(conn)
    .await
}

/// The next events after `position`.
pub(super) async fn list_page(
    conn: &mut Connection,
    company: CompanyId,
    wanted: &EventFilter,
    position: Position,
) -> Result<Vec<Seen>, sqlx::Error> {
    sqlx::query_as!(
        Seen,
        r#"with scanned as (
             select id, name, sequence, body, transaction_id, place,
                    addressed_to is null
                    and (cardinality($4::text[]) = 0 or $4 && array['*', name, split_part(name, '.', 1) || '.*']) as wanted
             from event_stream
             where company_id = $1 and (transaction_id, place) > ($2::bigint::text::xid8, $3)
               and transaction_id < pg_snapshot_xmin(pg_current_snapshot())
             order by transaction_id, place limit $5
         ), measured as (
             select *, sum(case when wanted then octet_length(body) else 0 end)
                       over (order by transaction_id, place rows between unbounded preceding and 1 preceding) as before
             from scanned
         )
         select id as "id!", name as "name!", sequence, transaction_id::text::bigint as "transaction!", place as "place!",
                case when wanted then body end as body
         from measured where coalesce(before, 0) < $6 order by transaction_id, place"#,
        company.uuid(),
        position.transaction,
        position.place,
        wanted as &EventFilter,
        MAX_SCANNED_EVENTS,
        MAX_PAGE_BYTES,
    )
    .fetch_all(conn)
    .await
}
