//! A replay of many deliveries as a read-only resource, with its progress.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::callers::Area;
use crate::kernel::ids::{ReplayId, SubscriptionId};
use crate::resources::{Instant, Owned, PublishesEvents, Reference, Resource};
use crate::webhooks::Webhooks;
use crate::webhooks::delivery_log::OWNED_BY_WEBHOOK;
use crate::webhooks::delivery_state::Repeatable;
use crate::webhooks::engine::repeat::Wanted;

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
        /// Only deliveries created before this instant are replayed.
        until: Instant,
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

impl Replay {
    pub(super) fn new(subscription_id: SubscriptionId, wanted: Wanted, until: DateTime<Utc>, expected: i64) -> Self {
        let Wanted { state, since } = wanted;
        let position_id = Uuid::nil();
        Self { subscription_id, state, since, until, expected, made: 0, position_at: since, position_id, finished_at: None }
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
