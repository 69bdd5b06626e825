//! The delivery log as a read-only resource: each delivery with its attempts and their responses.

use serde_json::{Map, Value, json};

use crate::callers::Area;
use crate::kernel::clock::timestamp;
use crate::kernel::database::Connection;
use crate::kernel::ids::{DeliveryId, EventId, SubscriptionId};
use crate::members;
use crate::resources::{Instant, Owned, Record, Reference, Resource};
use crate::webhooks::Webhooks;
use crate::webhooks::delivery_state::State;
use crate::webhooks::engine::attempts::{self, LoggedAttempt};

/// Deliveries and replays are of the owner of their webhook.
pub(super) const OWNED_BY_WEBHOOK: Owned = Owned::By { view: "subscription_owners", key: "subscription_id" };

crate::read_only! {
    /// A delivery in the log: one event for one webhook.
    pub struct Delivery {
        /// The webhook that the event is delivered to.
        #[filtered as "webhook"] #[filtered as "subscription"]
        subscription_id as "webhook_id": Reference<SubscriptionId>,
        /// The event.
        #[filtered]
        event_id: Reference<EventId>,
        /// The name of the event.
        #[filtered]
        event: String,
        /// The sequence number of the event among the events of its record.
        sequence: Option<i64>,
        /// The state of the delivery.
        #[filtered]
        state as "status": State,
        /// Number of attempts begun.
        attempts as "attempt_count": i16,
        /// Earliest time of the next attempt.
        due_at as "next_attempt_at": Option<Instant>,
        /// The delivery that this one repeats.
        replay_of: Option<Reference<DeliveryId>>,
    }
    computed {
        /// The request body. Only in the response for a single delivery.
        #[detail] #[searched]
        payload: Option<Map<String, Value>>,
        /// The attempts with their responses. Only in the response for a single delivery.
        #[detail]
        attempts: Vec<Map<String, Value>>,
    }
}

impl Resource for Delivery {
    type Id = DeliveryId;
    type State = Webhooks;

    const SINGULAR: &'static str = "delivery";
    const PLURAL: &'static str = "deliveries";
    const AREA: Area = Area::Traffic;
    const TABLE: &'static str = "delivery_log";
    const SEARCH_WITHIN: Option<&'static str> = Some("subscription_id");
    const OWNED: Option<Owned> = Some(OWNED_BY_WEBHOOK);

    async fn details(_: &Webhooks, conn: &mut Connection, record: &Record<Self>) -> Result<Map<String, Value>, sqlx::Error> {
        let body = attempts::find_body(conn, record.fields.event_id).await?;
        let attempts = attempts::list_attempts(conn, record.id).await?;
        Ok(members! {
            // A delivery can be kept slightly longer than its event.
            "payload": body.map(|body| read_back(&body)),
            "attempts": attempts.into_iter().map(LoggedAttempt::member).collect::<Vec<_>>(),
        })
    }
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
