//! Replays: new deliveries made from closed ones, on request (`docs/specification/decisions.md`, section 7).
//!
//! A replay is a delivery of its own, of the same event with the same `webhook-id`, signed with the current secret. It refers to
//! the delivery that it replays. It therefore does not affect the health of the endpoint. A single delivery is replayed even to a
//! disabled subscription, which has no other deliveries waiting. Replaying one delivery, or one event for all matching
//! subscriptions, is one statement. Replaying all deliveries of an endpoint of some time may concern a million deliveries. Such
//! a request is a row of [`Replay`]: the worker creates a batch of deliveries every second ([`worker`]) and stores its
//! progress in the same transaction. If an instance stops half-way, the next run continues there. All unfinished replays advance
//! concurrently.
//!
//! Only originals are replayed: if a delivery failed and its replay failed too, one more delivery is created, not two. A failed
//! delivery whose event has since been delivered by a replay is not replayed again.
//!
//! A request with an idempotency key ([`keys`]) can be retried without replaying twice.

mod keys;
mod queries;
mod replay;
mod routes;
mod worker;

use crate::callers::Caller;
use crate::companies::{self, moving};
use crate::kernel::ids::{DeliveryId, EventId, ReplayId, SubscriptionId};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::resources::{RecordTransaction, Resource, Shown};
use crate::webhooks::delivery_log::Delivery;
use crate::webhooks::engine::repeat;
use crate::webhooks::replays::replay::ReplayRequest;
use crate::webhooks::subscription::Subscription;
use crate::webhooks::{Webhooks, by_hand};

pub(super) use keys::delete_expired_keys;
pub(super) use queries::{delete_ended, stop_replays};
pub use replay::Replay;
pub(super) use routes::extension;
pub(super) use worker::run;

use keys::{Key, Once};

impl Webhooks {
    /// Counts the closed deliveries of a subscription that would be replayed.
    async fn count_repeated(&self, caller: &Caller, id: SubscriptionId, request: &ReplayRequest) -> Result<i64, Problem> {
        Delivery::require(caller, Delivery::writing())?;
        let mut transaction = RecordTransaction::begin(self, caller).await?;
        transaction.lock_shared::<Subscription>(id).await?.ok_or(ProblemCode::RecordNotFound)?;
        moving::must_have_its_log(transaction.conn(), caller.company).await?;
        let now = transaction.now;
        by_hand::count(transaction.conn(), caller, &[id.uuid()], now).await?;
        let wanted = request.wanted(now);
        let expected = repeat::count_repeated(transaction.conn(), id, wanted).await?;
        transaction.commit().await?;
        Ok(expected)
    }

    /// Creates a replay of these deliveries, which the worker carries out. One at a time, because each may send any number of requests, and by hand
    /// counts as one.
    async fn replay(
        &self,
        caller: &Caller,
        id: SubscriptionId,
        request: ReplayRequest,
        key: Option<Key>,
    ) -> Result<Once<Shown<Replay>>, Problem> {
        Delivery::require(caller, Delivery::writing())?;
        let mut transaction = RecordTransaction::begin(self, caller).await?;
        let replay = ReplayId::new(transaction.now);
        if let Some(before) = keys::take(&mut transaction, key.as_ref(), replay.uuid()).await? {
            return Ok(Once::repeated(transaction.show::<Replay>(before.made.into()).await?));
        }
        transaction.lock_shared::<Subscription>(id).await?.ok_or(ProblemCode::RecordNotFound)?;
        moving::must_have_its_log(transaction.conn(), caller.company).await?;
        let now = transaction.now;
        // Requests of the same moment wait here for each other, so that one of them begins.
        by_hand::count(transaction.conn(), caller, &[id.uuid()], now).await?;
        if queries::is_under_way(transaction.conn(), id, request.state).await? {
            return Err(ProblemCode::ReplayUnderWay.into());
        }
        let wanted = request.wanted(now);
        let (until, expected) = (wanted.until, repeat::count_repeated(transaction.conn(), id, wanted).await?);
        let shown = transaction.insert(replay, Replay::new(id, request, until, expected)).await?;
        transaction.commit().await?;
        Ok(Once::created(shown))
    }

    /// Replays a closed delivery, unless its subscription is deleted. A delivery that was cancelled with an attempt in flight is open
    /// until this attempt has ended.
    async fn replay_delivery(&self, caller: &Caller, id: DeliveryId, key: Option<Key>) -> Result<Once<Shown<Delivery>>, Problem> {
        Delivery::require(caller, Delivery::writing())?;
        let mut transaction = RecordTransaction::begin(self, caller).await?;
        let now = transaction.now;
        let again = DeliveryId::new(now);
        if let Some(before) = keys::take(&mut transaction, key.as_ref(), again.uuid()).await? {
            return Ok(Once::repeated(transaction.show::<Delivery>(before.made.into()).await?));
        }
        let subscription = transaction.show::<Delivery>(id).await?.record.fields.subscription_id;
        let deleted = || Problem::new(ProblemCode::RecordNotFound).detail("The webhook of the delivery was deleted.");
        transaction.lock_shared::<Subscription>(subscription).await?.ok_or_else(deleted)?;
        by_hand::count(transaction.conn(), caller, &[subscription.uuid()], now).await?;
        if repeat::is_open(transaction.conn(), id).await? {
            return Err(ProblemCode::DeliveryOpen.into());
        }
        if !repeat::repeat_delivery(transaction.conn(), id, again, now).await? {
            return Err(Problem::new(ProblemCode::RecordNotFound).detail("The event of the delivery was deleted."));
        }
        let shown = transaction.show::<Delivery>(again).await?;
        transaction.commit().await?;
        Ok(Once::created(shown))
    }

    /// Creates a delivery of an event for every enabled subscription that wants it and has no open delivery of it. Returns the
    /// number of deliveries. With `count_only`, nothing is created.
    async fn replay_event(&self, caller: &Caller, id: EventId, count_only: bool, key: Option<Key>) -> Result<Once<i64>, Problem> {
        Delivery::require(caller, Delivery::writing())?;
        let mut transaction = RecordTransaction::begin(self, caller).await?;
        let now = transaction.now;
        // Without its webhooks, none would want the event.
        companies::must_stay_open(transaction.conn(), caller.company).await?;
        let key = key.filter(|_| !count_only);
        if let Some(before) = keys::take(&mut transaction, key.as_ref(), id.uuid()).await? {
            return Ok(Once::repeated(before.count));
        }
        let webhooks = repeat::repeat_event(transaction.conn(), caller, id, count_only, now).await?.ok_or(ProblemCode::RecordNotFound)?;
        by_hand::count(transaction.conn(), caller, &webhooks, now).await?;
        let made = i64::try_from(webhooks.len()).unwrap_or(i64::MAX);
        if let Some(key) = &key {
            queries::record_count(transaction.conn(), caller.company, key, made).await?;
        }
        transaction.commit().await?;
        Ok(Once::created(made))
    }
}
