//! A replay of many deliveries as a read-only resource, with its progress.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::kernel::clock::timestamp;
use crate::kernel::ids::{ReplayId, SubscriptionId};
use crate::resources::{Announced, Described, Filter, Instant, Reference, Resource};
use crate::webhooks::Webhooks;
use crate::{columns, members};

/// The states of closed deliveries that can be replayed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum Repeatable {
    /// Failed deliveries, except those whose event has been delivered since.
    #[default]
    Failed,
    /// Delivered deliveries.
    Delivered,
    /// Cancelled deliveries.
    Cancelled,
}

/// Which deliveries are replayed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) state: Repeatable,
    pub(super) since: DateTime<Utc>,
}

columns! {
    /// A request to replay deliveries.
    pub struct Replay {
        /// The subscription whose deliveries are replayed.
        pub subscription_id: SubscriptionId,
        /// The state of the deliveries that are replayed.
        pub state: Repeatable,
        /// Only deliveries created from this instant on are replayed.
        pub since: DateTime<Utc>,
        /// Only deliveries created until this instant are replayed.
        pub until: DateTime<Utc>,
        /// Number of matching deliveries when the replay was requested.
        pub expected: i64,
        /// Number of deliveries replayed so far.
        pub made: i64,
        /// The creation time of the last delivery that was processed.
        pub position_at: DateTime<Utc>,
        /// The id of the last delivery that was processed.
        pub position_id: Uuid,
        /// When the replay was finished.
        pub finished_at: Option<DateTime<Utc>>,
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
    type Room = Webhooks;

    const SINGULAR: &'static str = "replay";
    const PLURAL: &'static str = "replays";
    const FILTERS: &'static [Filter] = &[Filter::id::<SubscriptionId>("webhook").on("subscription_id")];

    fn shown(&self) -> Map<String, Value> {
        members! {
            "webhook_id": self.subscription_id,
            "status": self.state,
            "since": timestamp(self.since),
            "until": timestamp(self.until),
            "count": self.expected,
            "made": self.made,
            "finished_at": self.finished_at.map(timestamp),
        }
    }

    fn shown_beside() -> Vec<Described> {
        vec![
            Described::shown::<Reference<SubscriptionId>>("webhook_id", "Whose deliveries."),
            Described::formed("status", "Which of them.", json!({ "enum": ["failed", "delivered", "cancelled"] })),
            Described::shown::<Instant>("since", "Those made from then on."),
            Described::shown::<Instant>("until", "Those made before."),
            Described::formed("count", "How many there were.", json!({ "type": "integer" })),
            Described::formed("made", "How many have been repeated.", json!({ "type": "integer" })),
            Described::shown::<Option<Instant>>("finished_at", "When there were no more."),
        ]
    }
}

/// Replays publish no events.
impl Announced for Replay {}
