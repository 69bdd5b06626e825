//! A replay of many deliveries, as a resource that is only read: how much of it has been made.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::kernel::clock::timestamp;
use crate::kernel::ids::{ReplayId, SubscriptionId};
use crate::resources::{Announced, Described, Filter, Instant, Reference, Resource};
use crate::webhooks::Webhooks;
use crate::{columns, members};

/// The closed deliveries that can be repeated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum Repeatable {
    /// Those that were given up, unless the event has arrived since.
    #[default]
    Failed,
    /// Those that arrived.
    Delivered,
    /// Those that were called off.
    Cancelled,
}

/// Which deliveries are repeated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) state: Repeatable,
    pub(super) since: DateTime<Utc>,
}

columns! {
    /// A request to repeat deliveries.
    pub struct Replay {
        /// Whose deliveries.
        pub subscription_id: SubscriptionId,
        /// Which of them.
        pub state: Repeatable,
        /// Those made from then on …
        pub since: DateTime<Utc>,
        /// … until then.
        pub until: DateTime<Utc>,
        /// How many there were.
        pub expected: i64,
        /// How many have been repeated.
        pub made: i64,
        /// The last one that was looked at: when it was made …
        pub position_at: DateTime<Utc>,
        /// … and its id.
        pub position_id: Uuid,
        /// When there were no more.
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

/// Replays are nobody's event.
impl Announced for Replay {}
