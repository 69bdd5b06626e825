//! The SQL of streams: events in the order of their transactions, up to the oldest open transaction.

use sqlx::PgConnection;

use crate::developers::stream::position::Position;
use crate::kernel::ids::{CompanyId, EventId};
use crate::webhooks::EventsWanted;

/// The maximum number of events read for one page, including filtered ones.
const SCANNED: i64 = 500;
/// The maximum number of bytes in one page, not counting its last event.
const PAGE: i64 = 256 * 1024;

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

/// The last event that a stream could have sent.
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

/// The position after an event. An event with a future transaction id was restored from another server, whose ids are meaningless here.
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

/// The next events after `position`.
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
