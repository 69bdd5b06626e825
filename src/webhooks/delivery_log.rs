//! The delivery log as a read-only resource: each delivery with its attempts and their responses.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};
use sqlx::PgConnection;

use crate::kernel::clock::timestamp;
use crate::kernel::ids::{AttemptId, DeliveryId, EventId, SubscriptionId};
use crate::resources::{Described, Filter, Instant, Record, Reference, Resource};
use crate::webhooks::delivery::State;
use crate::webhooks::{Webhooks, queries};
use crate::{columns, members};

columns! {
    /// A delivery as the log shows it.
    pub struct Delivery {
        /// The subscription that the delivery is for.
        pub subscription_id: SubscriptionId,
        /// The event that is delivered.
        pub event_id: EventId,
        /// The event name.
        pub event: String,
        /// The sequence number among the events about the same record.
        pub sequence: Option<i64>,
        /// The state of the delivery.
        pub state: State,
        /// Attempts begun, including one in flight.
        pub attempts: i16,
        /// When the next attempt may begin.
        pub due_at: Option<DateTime<Utc>>,
        /// The delivery that this one replays.
        pub replay_of: Option<DeliveryId>,
    }
}

impl Resource for Delivery {
    type Id = DeliveryId;
    type Room = Webhooks;

    const SINGULAR: &'static str = "delivery";
    const PLURAL: &'static str = "deliveries";
    const TABLE: &'static str = "delivery_log";
    const FILTERS: &'static [Filter] = &[
        Filter::id::<SubscriptionId>("webhook").on("subscription_id"),
        Filter::id::<SubscriptionId>("subscription").on("subscription_id"),
        Filter::id::<EventId>("event_id"),
        Filter::text("event"),
        Filter::word::<State>("status").on("state"),
    ];
    const SEARCH: &'static [&'static str] = &["payload"];
    const SEARCH_WITHIN: Option<&'static str> = Some("subscription_id");

    fn shown(&self) -> Map<String, Value> {
        members! {
            "webhook_id": self.subscription_id,
            "event_id": self.event_id,
            "event": self.event,
            "sequence": self.sequence,
            "status": self.state,
            "attempt_count": self.attempts,
            "next_attempt_at": self.due_at.map(timestamp),
            "replay_of": self.replay_of,
        }
    }

    async fn details(_: &Webhooks, conn: &mut PgConnection, record: &Record<Self>) -> Result<Map<String, Value>, sqlx::Error> {
        let body = queries::find_body(conn, record.fields.event_id).await?;
        let attempts = queries::list_attempts(conn, record.id).await?;
        Ok(members! {
            // A delivery can be kept slightly longer than its event.
            "payload": body.map(|body| read_back(&body)),
            "attempts": attempts.into_iter().map(LoggedAttempt::member).collect::<Vec<_>>(),
        })
    }

    fn shown_beside() -> Vec<Described> {
        vec![
            Described::shown::<Reference<SubscriptionId>>("webhook_id", "Whom it is for."),
            Described::shown::<Reference<EventId>>("event_id", "What it tells of."),
            Described::formed("event", "The name of that.", json!({ "type": "string" })),
            Described::formed("sequence", "The event's place among those about its record.", json!({ "type": ["integer", "null"] })),
            Described::shown::<State>("status", "How it stands."),
            Described::formed("attempt_count", "Attempts begun.", json!({ "type": "integer" })),
            Described::shown::<Option<Instant>>("next_attempt_at", "When the next one may begin."),
            Described::shown::<Option<Reference<DeliveryId>>>("replay_of", "The delivery it repeats."),
            Described::formed(
                "payload",
                "The body that was sent; only where one delivery is found.",
                json!({ "type": ["object", "null"] }),
            ),
            Described::formed(
                "attempts",
                "Each POST with its answer; only where one delivery is found.",
                json!({ "type": "array", "items": { "type": "object" } }),
            ),
        ]
    }
}

/// An attempt as it was logged.
#[derive(Debug)]
pub(super) struct LoggedAttempt {
    pub(super) id: AttemptId,
    pub(super) number: i16,
    pub(super) started_at: DateTime<Utc>,
    pub(super) duration_ms: Option<i32>,
    pub(super) status: Option<i16>,
    pub(super) error: Option<String>,
    pub(super) request_headers: String,
    pub(super) response_headers: Option<String>,
    pub(super) response_body: Option<Vec<u8>>,
}

impl LoggedAttempt {
    fn member(self) -> Value {
        json!({
            "id": self.id,
            "uuid": self.id.uuid(),
            "number": self.number,
            "started_at": timestamp(self.started_at),
            "duration_ms": self.duration_ms,
            "status": self.status,
            "error": self.error,
            "request_headers": read_back(self.request_headers.as_bytes()),
            "response_headers": self.response_headers.map(|headers| read_back(headers.as_bytes())),
            "response_body": self.response_body.as_deref().map(String::from_utf8_lossy),
        })
    }
}

fn read_back(json: &[u8]) -> Value {
    serde_json::from_slice(json).expect("we wrote it as JSON ourselves")
}
