//! Moves deliveries from the queue into flight.

use chrono::{DateTime, TimeDelta, Utc};
use uuid::Uuid;

use crate::kernel::database::{Connection, column};
use crate::kernel::ids::{CompanyId, DeliveryId, EventId, SubscriptionId, WorkerId};
use crate::webhooks::delivery_state::Lane;
use crate::webhooks::engine::claim::{ClaimSummary, ClaimedRow, Visit, beginning, oldest_recent};
use crate::webhooks::permits::Shares;

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of deliveries to take.
    pub deliveries: i32,
    /// Maximum number of endpoints to examine.
    pub endpoints: i32,
    /// Maximum number of deliveries behind open circuits to put aside.
    pub held: i32,
    /// The longest time that a circuit stays open.
    pub cool_down: TimeDelta,
    /// The longest time that an endpoint is left alone because it asked for it.
    pub silence: TimeDelta,
}

/// The bytes of events, of any age.
pub async fn find_bodies(conn: &mut Connection, events: &[Uuid]) -> Result<Vec<(EventId, Option<Vec<u8>>)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"select wanted.id as "id!: EventId", (select body from event_stream where event_stream.id = wanted.id) as "body?"
           from unnest($1::uuid[]) as wanted (id)"#,
        events,
    );
    Ok(rows.fetch_all(conn).await?.into_iter().map(|row| (row.id, row.body)).collect())
}

/// Takes due deliveries of one lane: of each company those of the endpoints with the fewest in flight first. There is always at least one row; the
/// row of an empty claim has no delivery. One delivery of each recent event carries the event's bytes.
///
/// Its cost depends on the number of endpoints with waiting deliveries, not on the number of these deliveries. The companies take turns, and of each no
/// more than its share is taken.
///
/// What waits behind an open circuit leaves the lane, some of it with each claim ([`held`](crate::webhooks::engine::held)).
///
/// The circuit does not apply to replays: they do not wait for it, and while they are in flight they do not count as the trial
/// attempt of a half-open circuit. (A replay that ends at this very moment is still counted, and then two trial attempts may be
/// made.)
///
/// An endpoint that has asked for silence gets nothing until then, replays included; they stay in their lane. Afterwards it gets what it would
/// get with a half-open circuit.
pub async fn claim_due(
    conn: &mut Connection,
    lane: Lane,
    limits: Limits,
    shares: &Shares,
    visit: Visit<'_>,
    worker: WorkerId,
    now: DateTime<Utc>,
) -> Result<(ClaimSummary, Vec<ClaimedRow>), sqlx::Error> {
    let (after, these) = match visit {
        Visit::Behind(endpoint) => (endpoint, &[][..]),
        Visit::These(endpoints) => (beginning(), endpoints),
    };
    let mut rows = sqlx::query_file!(
        "src/webhooks/engine/claim/claim_due.sql",
        lane as i16,
        after.uuid(),
        limits.endpoints,
        limits.deliveries,
        shares.endpoint,
        limits.cool_down as TimeDelta,
        now,
        &shares.holders,
        &shares.rooms,
        shares.company,
        i64::from(limits.held),
        worker.uuid(),
        oldest_recent(now),
        &column(these, |endpoint| endpoint.uuid()),
        limits.silence as TimeDelta,
    )
    .fetch_all(conn)
    .await?;
    let crowded = rows.iter_mut().find_map(|row| row.crowded.take()).unwrap_or_default();
    let first = &rows[0];
    let (last, more, unseen, missed, resumes_at) = (first.last, first.more, first.unseen, first.missed, first.resumes_at);
    let short = first.cut || (shares.scarce && !crowded.is_empty());
    let held = first.held;
    let summary = ClaimSummary { held, last, more, crowded, unseen, missed, short, resumes_at };
    let taken = rows.into_iter().filter_map(|row| {
        Some(ClaimedRow {
            delivery: row.delivery?,
            company: row.company?,
            subscription: row.subscription?,
            event: row.event?,
            event_name: row.event_name?,
            sequence: row.sequence,
            number: row.number?,
            failures: row.failures?,
            in_order: row.in_order?,
            is_replay: row.is_replay?,
            version: row.version?,
            body: row.body,
        })
    });
    Ok((summary, taken.collect()))
}
