//! Moves events from the outbox into the queue, or their deliveries directly into flight.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::kernel::database::{Connection, column};
use crate::kernel::ids::{CompanyId, DeliveryId, EventId, SubscriptionId, WorkerId};
use crate::webhooks::engine::claim::{ClaimedRow, oldest_recent};
use crate::webhooks::engine::fan_out::{FannedOut, Whose};
use crate::webhooks::permits::Shares;

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of deliveries to make.
    pub deliveries: i32,
    /// Maximum number of companies whose events to take.
    pub companies: i32,
    /// Maximum number of events to take of each company,
    pub events: i32,
    /// and of comparisons between these events and its webhooks. One event is always taken.
    pub comparisons: i32,
    /// Maximum number of deliveries to take into flight.
    pub flights: i32,
}

/// Turns events of the outbox into deliveries, those of each company oldest first. Only one statement at a time fans out the events of a
/// company, so a later event about a record is never fanned out before an earlier one: it has the company's first entry in the outbox locked,
/// which is the first that any other would have to fan out. A company whose first entry is locked, or has just left, is passed over. An event that
/// is fanned out while it is published ([`publishing`](crate::webhooks::engine::fan_out::publishing)) has no entry: the two meet at the head of the
/// company's feed and at its endpoints, where the publisher gives way.
///
/// A slice that is full may end within an event: its entry stays in the outbox and notes the webhook up to which it has come. The number of events
/// to look at follows from the number of the company's webhooks, because each is compared with each. What leaves the outbox gets the next numbers in
/// the feed of its company, for those who read along.
///
/// Up to `limits.flights` of the deliveries are candidates to be taken into flight at once. All others wait to be claimed. An event with an owner is
/// for the webhooks of that owner and those without any, one without an owner for the latter alone. Ordered deliveries wait behind their
/// predecessor, if there is one; their endpoints are locked before any delivery is queued. The first delivery of each event that is taken into
/// flight carries the event's bytes. With `tells`, the events that left the outbox are named.
///
/// Nothing in the statement is joined row by row with what grows with the batch: the plan is made once, for a few rows.
pub async fn fan_out(
    conn: &mut Connection,
    whose: Whose<'_>,
    limits: Limits,
    shares: &Shares,
    tells: bool,
    worker: WorkerId,
    now: DateTime<Utc>,
) -> Result<(FannedOut, Vec<ClaimedRow>), sqlx::Error> {
    // The statement generates the ids as the program does: a time prefix, then random bits.
    let time = &DeliveryId::new(now).uuid().to_string()[..15];
    let (others, after, companies) = match whose {
        Whose::Others { than, after } => (true, after, than),
        Whose::These(companies) => (false, None, companies),
    };
    let companies = column(companies, |company| company.uuid());
    let mut rows = sqlx::query_file!(
        "src/webhooks/engine/fan_out/fan_out.sql",
        after.map_or(Uuid::nil(), CompanyId::uuid),
        now,
        time,
        i64::from(limits.flights),
        shares.endpoint,
        limits.deliveries,
        limits.companies,
        i64::from(limits.comparisons),
        i64::from(limits.events),
        &shares.holders,
        &shares.rooms,
        shares.company,
        &companies,
        others,
        worker.uuid(),
        oldest_recent(now),
        tells,
    )
    .fetch_all(conn)
    .await?;
    let unfinished = rows.iter_mut().find_map(|row| row.unfinished.take()).unwrap_or_default();
    let waiting = rows.iter_mut().find_map(|row| row.waiting.take()).unwrap_or_default();
    let drained = rows.iter_mut().find_map(|row| row.drained.take()).unwrap_or_default();
    let first = &rows[0];
    let (events, queued, more, last, passed_over) = (first.events, first.queued, first.more, first.last, first.passed_over);
    let fanned_out = FannedOut { events, drained, queued, waiting, more, last, unfinished, passed_over };
    let taken = rows.into_iter().filter_map(|row| {
        Some(ClaimedRow {
            delivery: row.delivery?,
            company: row.company?,
            subscription: row.subscription?,
            event: row.event?,
            event_name: row.event_name?,
            sequence: row.sequence,
            number: 1,
            failures: 0,
            in_order: false,
            is_replay: false,
            version: row.version?,
            body: row.body,
        })
    });
    Ok((fanned_out, taken.collect()))
}
