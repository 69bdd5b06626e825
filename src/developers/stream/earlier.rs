//! Events from before there was a feed: a client that was away while this version was installed goes on behind one of them. They are read in
//! the order of their transactions, as the version before did. All have been fanned out, so none can appear later.

use chrono::{DateTime, Utc};

use crate::developers::stream::queries::{MAX_PAGE_BYTES, MAX_SCANNED_EVENTS, Seen};
use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, EventId};
use crate::webhooks::EventFilter;

/// The position behind an event without a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EarlierPosition {
    /// The transaction that published the event.
    pub(super) transaction: i64,
    /// The event's place within that transaction.
    pub(super) place: i64,
}

/// The next events without a number that are behind `position` and were made before `until`, and the position behind them. `None` if there are
/// none.
pub(super) async fn list_earlier(
    conn: &mut Connection,
    company: CompanyId,
    wanted: &EventFilter,
    position: EarlierPosition,
    until: DateTime<Utc>,
) -> Result<Option<(Vec<Seen>, EarlierPosition)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"with scanned as (
             select id, name, sequence, body, transaction_id, place,
                    addressed_to is null
                    and (cardinality($4::text[]) = 0 or $4 && array['*', name, split_part(name, '.', 1) || '.*']) as wanted
             from unnumbered_events
             where company_id = $1 and (transaction_id, place) > ($2::bigint::text::xid8, $3) and id < uuid_v7_floor($5) and not waits
             order by transaction_id, place limit $6
         ), measured as (
             select *, sum(case when wanted then octet_length(body) else 0 end)
                       over (order by transaction_id, place rows between unbounded preceding and 1 preceding) as before
             from scanned
         )
         select id as "id!: EventId", name as "name!", sequence, transaction_id::text::bigint as "transaction!", place as "place!",
                case when wanted then body end as body
         from measured where coalesce(before, 0) < $7 order by transaction_id, place"#,
        company.uuid(),
        position.transaction,
        position.place,
        wanted as &EventFilter,
        until,
        MAX_SCANNED_EVENTS,
        MAX_PAGE_BYTES,
    )
    .fetch_all(conn)
    .await?;
    let Some(last) = rows.last() else { return Ok(None) };
    let position = EarlierPosition { transaction: last.transaction, place: last.place };
    let seen = rows.into_iter().map(|row| Seen { id: row.id, name: row.name, sequence: row.sequence, body: row.body });
    Ok(Some((seen.collect(), position)))
}
