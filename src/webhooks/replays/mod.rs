//! Replays: new deliveries made from closed ones, on request (`docs/specification/decisions.md`, section 7).
//!
//! A replay is a delivery of its own, of the same event with the same `webhook-id`, signed with the current secret. It refers to
//! the delivery that it replays. It therefore does not affect the health of the endpoint. A single delivery is replayed even to a
//! disabled subscription, which has no other deliveries waiting. Replaying one delivery, or one event for all matching
//! subscriptions, is one statement. Replaying all deliveries of an endpoint since some time may concern a million deliveries. Such
//! a request is a row of [`Replay`]: the worker creates a batch of deliveries every second ([`working_off`]) and stores its
//! progress in the same transaction. If an instance stops half-way, the next run continues there. All unfinished replays advance
//! concurrently.
//!
//! Repeated are originals: of an event that failed and failed again when it was repeated, one more delivery is made and not two. An event
//! that failed and has arrived since by a replay is not repeated again.

mod queries;
mod replay;
mod routes;
mod working_off;

use crate::kernel::ids::{CompanyId, DeliveryId, EventId, ReplayId, SubscriptionId};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::resources::{Edit, Shown};
use crate::webhooks::Webhooks;
use crate::webhooks::delivery_log::Delivery;
use crate::webhooks::subscription::Subscription;

pub(super) use queries::stop_replays;
pub use replay::Replay;
pub(super) use routes::extension;
pub(super) use working_off::work_off;

use replay::Wanted;

/// What was asked for, and what comes of it.
#[derive(Debug)]
enum Asked {
    /// So many deliveries would be made.
    Counted(i64),
    /// They will be.
    Begun(Box<Shown<Replay>>),
}

impl Webhooks {
    /// Repeats the closed deliveries of a subscription that `wanted` describes, or only counts them.
    async fn replay(&self, company: CompanyId, id: SubscriptionId, wanted: Wanted, count_only: bool) -> Result<Asked, Problem> {
        let mut edit = Edit::begin(self, company).await?;
        edit.hold::<Subscription>(id).await?.ok_or(ProblemCode::RecordNotFound)?;
        let until = edit.now;
        let expected = queries::count_repeated(edit.conn(), id, wanted, until).await?;
        if count_only {
            return Ok(Asked::Counted(expected));
        }
        let shown = edit.insert(ReplayId::new(until), Replay::new(id, wanted, until, expected)).await?;
        edit.commit().await?;
        Ok(Asked::Begun(Box::new(shown)))
    }

    /// Repeats a closed delivery.
    async fn replay_delivery(&self, company: CompanyId, id: DeliveryId) -> Result<Shown<Delivery>, Problem> {
        let mut edit = Edit::begin(self, company).await?;
        let before = edit.show::<Delivery>(id).await?;
        if before.record.fields.state.is_open() {
            return Err(ProblemCode::DeliveryOpen.into());
        }
        let now = edit.now;
        let again = queries::repeat_delivery(edit.conn(), id, now).await?;
        let again = again.ok_or_else(|| Problem::new(ProblemCode::RecordNotFound).detail("Its event is not kept any more."))?;
        let shown = edit.show::<Delivery>(again).await?;
        edit.commit().await?;
        Ok(shown)
    }

    /// Makes a delivery of an event to every enabled subscription that wants it and does not wait for it already; answers how many, or
    /// only counts them.
    async fn replay_event(&self, company: CompanyId, id: EventId, count_only: bool) -> Result<i64, Problem> {
        let mut edit = Edit::begin(self, company).await?;
        let now = edit.now;
        let made = queries::repeat_event(edit.conn(), company, id, count_only, now).await?;
        edit.commit().await?;
        made.ok_or_else(|| ProblemCode::RecordNotFound.into())
    }
}
