//! A replay of many deliveries as a read-only resource, with its progress.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::callers::Area;
use crate::kernel::clock::timestamp;
use crate::kernel::ids::{ReplayId, SubscriptionId};
use crate::resources::{Instant, Owned, PublishesEvents, Reference, Resource};
use crate::webhooks::Webhooks;
use crate::webhooks::delivery_log::OWNED_BY_WEBHOOK;
use crate::webhooks::delivery_state::Repeatable;
use crate::webhooks::engine::repeat::Wanted;
use crate::webhooks::subscription::EventFilter;

crate::read_only! {
    /// A request to replay deliveries.
    pub struct Replay {
        /// The webhook whose deliveries are replayed.
        #[filtered as "webhook"]
        subscription_id as "webhook_id": Reference<SubscriptionId>,
        /// The state of the deliveries that are replayed.
        state as "status": Repeatable,
        /// Only deliveries created from this instant on are replayed.
        since: Instant,
        /// Only deliveries created up to this instant are replayed.
        until: Instant,
        /// Only deliveries of these events and groups of events are replayed. An empty list or * means all events.
        events: EventFilter,
        /// Number of matching deliveries when the replay was requested.
        expected as "count": i64,
        /// Number of deliveries replayed so far.
        made: i64,
        /// When the replay was finished.
        finished_at: Option<Instant>,
    }
    hidden {
        /// The creation time of the last delivery that was processed.
        position_at: DateTime<Utc>,
        /// The id of the last delivery that was processed.
        position_id: Uuid,
    }
}

/// What a replay of many deliveries was asked for.
#[derive(Clone, Debug)]
pub(super) struct ReplayRequest {
    pub(super) state: Repeatable,
    pub(super) since: DateTime<Utc>,
    /// Deliveries created later are not replayed; `None` stands for the instant of the request.
    pub(super) until: Option<DateTime<Utc>>,
    pub(super) events: EventFilter,
}

impl ReplayRequest {
    /// The deliveries that a request at `now` is about. Deliveries created later are never replayed.
    pub(super) fn wanted(&self, now: DateTime<Utc>) -> Wanted<'_> {
        let until = self.until.map_or(now, |until| until.min(now));
        Wanted { state: self.state, since: self.since, until, events: self.events.entries() }
    }

    /// What its idempotency key stands for. Without an end and events it is what versions without these members made of it.
    pub(super) fn identity(&self, webhook: SubscriptionId) -> Value {
        let (since, until) = (timestamp(self.since), self.until.map(timestamp));
        match (until, self.events.entries()) {
            (None, []) => json!([webhook, self.state, since]),
            (until, events) => json!([webhook, self.state, since, until, events]),
        }
    }
}

impl Replay {
    /// A replay that nothing was made of yet. It has `expected` deliveries and ends at `until`.
    pub(super) fn new(subscription_id: SubscriptionId, request: ReplayRequest, until: DateTime<Utc>, expected: i64) -> Self {
        let ReplayRequest { state, since, events, .. } = request;
        let position_id = Uuid::nil();
        Self { subscription_id, state, since, until, events, expected, made: 0, position_at: since, position_id, finished_at: None }
    }
}

impl Resource for Replay {
    type Id = ReplayId;
    type State = Webhooks;

    const SINGULAR: &'static str = "replay";
    const PLURAL: &'static str = "replays";
    const AREA: Area = Area::Traffic;
    const OWNED: Option<Owned> = Some(OWNED_BY_WEBHOOK);
}

/// Replays publish no events.
impl PublishesEvents for Replay {}
