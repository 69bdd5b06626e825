//! Fan-out while publishing: the statement that publishes an event takes its deliveries into flight as well, if nothing is in the way.
//!
//! Most events are of a company that is otherwise quiet, and for a few webhooks that could have them at once. Such an event is never in the
//! outbox: the publisher hands its deliveries over to the worker of its instance. This is tried for an event about no record, which is
//! published alone and whose trace is not recorded, if a worker runs here, the company has nothing in flight here, and nothing was in the way of its
//! events a moment ago ([`in_the_way`](crate::webhooks::in_the_way)). `publishing.sql` decides
//! the rest under the same locks as the statement that empties the outbox, and puts the event there if anything is in the way:
//!
//! - events of the company wait in the outbox, or somebody is numbering some, so that none is overtaken;
//! - the company is on its way to another cell;
//! - it has more than [`MOST`] webhooks that want the event, or one with an ordering or a rate limit, or one that somebody is changing;
//! - one of their endpoints has no room, has something waiting, is paused, is held back, or is locked by somebody who moves its deliveries.
//!
//! The statement waits for nobody, because what somebody else has locked is in the way. So no publisher waits for another one, nor for a change of
//! a webhook, and no deadlock comes of the order in which it locks. Others wait for it, until its commit is on the disk: the fan-out of further
//! events of the company, and the record of deliveries to the same endpoints that other instances have sent.
//!
//! The deliveries are as durable as the event. They are claimed in the name of the worker of this instance: if that dies, others take them over.

use std::time::Instant;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::callers::Owner;
use crate::events::NewEvent;
use crate::kernel::database::Connection;
use crate::kernel::error_chain::chain;
use crate::kernel::ids::{DeliveryId, EventId, SubscriptionId, WorkerId};
use crate::kernel::request_id::RequestId;
use crate::webhooks::Webhooks;
use crate::webhooks::engine::claim::ClaimedRow;
use crate::webhooks::engine::traced::TracedEvents;
use crate::webhooks::permits::AtOnce;

/// The most webhooks that such an event is for. A publisher waits until the deliveries for all of them are written.
const MOST: usize = 16;

impl Webhooks {
    /// Publishes an event, and sends it at once if nothing is in the way. Otherwise it is in the outbox like any other, and the dispatcher is woken.
    /// Returns its id after the commit, or `None` if nothing was done, because this event has to be published otherwise. The connection is one on
    /// which commits wait for the disk.
    ///
    /// # Errors
    /// The event is not published; or, if the connection broke, nobody knows whether it is.
    pub async fn publish(&self, conn: &mut Connection, event: &NewEvent, now: DateTime<Utc>) -> Result<Option<EventId>, sqlx::Error> {
        let company = event.company;
        if event.subject.is_some() || event.trace.is_some() || self.in_the_way.was_seen(company, Instant::now()) {
            return Ok(None);
        }
        let Some(launcher) = self.launching.launcher() else { return Ok(None) };
        let most = self.settings.endpoint_concurrency();
        let Some(AtOnce { permits, endpoint }) = self.delivering.permits.take_at_once(company, MOST, most) else { return Ok(None) };
        let deliveries = ids(permits.len(), now);
        let (id, limits) = (EventId::new(now), Limits { endpoint, worker: self.worker });
        let taken = match insert(conn, id, event, &deliveries, limits, now).await {
            Ok(Some(taken)) => taken,
            Ok(None) => {
                self.in_the_way.seen(company, Instant::now());
                self.notifier.committed();
                return Ok(Some(id));
            }
            Err(error) => {
                launcher.give_back(deliveries);
                return Err(error);
            }
        };
        match self.complete(conn, taken, &TracedEvents::new()).await {
            Ok(claimed) => launcher.launch(claimed, permits),
            Err(error) => {
                tracing::warn!(event = %id, error = chain(&error), "the endpoints of an event could not be read; its deliveries are made later");
                launcher.give_back(deliveries);
            }
        }
        self.fanned_out.send_replace(());
        self.notifier.fanned_out();
        Ok(Some(id))
    }
}

/// The ids of deliveries that are made together. They are known before they are written, so that these can be found if the answer is lost. Random bits
/// are drawn once, and the last of them tell the ids apart.
fn ids(count: usize, now: DateTime<Utc>) -> Vec<DeliveryId> {
    let first = DeliveryId::new(now).uuid().as_u128();
    (0..count).map(|number| Uuid::from_u128(first ^ number as u128).into()).collect()
}

#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Maximum number of deliveries in flight to one endpoint.
    endpoint: i32,
    /// Who sends the deliveries.
    worker: WorkerId,
}

/// Publishes an event, for at most as many webhooks as there are `deliveries`, which are the ids that theirs get. Returns those that are in flight, the
/// first one with the event's bytes; `None` if the event is in the outbox.
///
/// Like any other statement that publishes, it publishes nothing if it reaches the server after its time.
async fn insert(
    conn: &mut Connection,
    id: EventId,
    event: &NewEvent,
    deliveries: &[DeliveryId],
    limits: Limits,
    now: DateTime<Utc>,
) -> Result<Option<Vec<ClaimedRow>>, sqlx::Error> {
    let (body, answer_by) = (event.body(id, now), conn.answer_by());
    let rows = sqlx::query_file!(
        "src/webhooks/engine/fan_out/publishing.sql",
        event.company.uuid(),
        id.uuid(),
        event.name.as_str(),
        body.as_slice(),
        now,
        event.request.map(RequestId::uuid),
        event.owner.as_ref().map(Owner::as_str),
        answer_by,
        deliveries as &[DeliveryId],
        limits.endpoint,
        limits.worker.uuid(),
    )
    .fetch_all(conn)
    .await?;
    if !rows[0].flies {
        return Ok(None);
    }
    let mut body = Some(body);
    let taken = rows.into_iter().filter_map(|row| {
        Some(ClaimedRow {
            delivery: row.delivery?,
            company: event.company,
            subscription: row.subscription?,
            event: id,
            event_name: event.name.as_str().to_owned(),
            sequence: None,
            number: 1,
            failures: 0,
            in_order: false,
            is_replay: false,
            version: row.version?,
            body: body.take(),
        })
    });
    Ok(Some(taken.collect()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn deliveries_that_are_made_together_have_ids_of_their_own_and_of_one_moment() {
        let now = DateTime::UNIX_EPOCH;
        let made = ids(MOST, now);
        assert_eq!(BTreeSet::from_iter(made.clone()).len(), MOST);
        assert!(made.iter().all(|id| id.made_at() == Some(now) && id.uuid().get_version_num() == 7));
    }
}
