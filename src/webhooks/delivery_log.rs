//! The delivery log as a read-only resource: each delivery with its attempts and their responses.

use serde_json::{Map, Value, json};

use crate::callers::{Area, Caller, Scope};
use crate::events::Catalogue;
use crate::kernel::clock::timestamp;
use crate::kernel::database::Connection;
use crate::kernel::ids::{DeliveryId, EventId, SubscriptionId};
use crate::kernel::sealed_values::MASK;
use crate::members;
use crate::resources::{Instant, LoggedEventName, Owned, Record, Reference, Resource};
use crate::webhooks::Webhooks;
use crate::webhooks::delivery_state::State;
use crate::webhooks::endpoint::SIGNATURES;
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
        event: LoggedEventName,
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
        /// The request body. Only in the response for a single delivery; null for an operator whose role does not reach what the event is about.
        #[detail] #[searched]
        payload: Option<Map<String, Value>>,
        /// The attempts with their responses. Only in the response for a single delivery. Headers and body of the responses are null for an operator
        /// whose role does not reach what the event is about, because an endpoint may answer with what it was sent.
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
    const EVENT_DATA: &'static [&'static str] = &["payload", "attempts[].response_headers", "attempts[].response_body"];

    fn catalogue(webhooks: &Webhooks) -> Option<&Catalogue> {
        Some(&webhooks.catalogue)
    }

    /// A signature proves to an endpoint that a request comes from this service, whoever sends it. So it is shown to those alone who may
    /// change where requests are sent.
    async fn details(
        _: &Webhooks,
        caller: &Caller,
        conn: &mut Connection,
        record: &Record<Self>,
    ) -> Result<Map<String, Value>, sqlx::Error> {
        let may_change_webhooks = caller.grant.allows(Area::Integration, Scope::Write);
        let signatures = if may_change_webhooks { Signatures::Shown } else { Signatures::Masked };
        let body = attempts::find_body(conn, record.fields.event_id).await?;
        let attempts = attempts::list_attempts(conn, record.id).await?;
        Ok(members! {
            // A delivery can be kept slightly longer than its event.
            "payload": body.map(|body| read_back(&body)),
            "attempts": attempts.into_iter().map(|attempt| attempt.member(signatures)).collect::<Vec<_>>(),
        })
    }
}

/// Whether the signatures of a request are among its headers.
#[derive(Clone, Copy)]
enum Signatures {
    Shown,
    Masked,
}

impl LoggedAttempt {
    fn member(self, signatures: Signatures) -> Value {
        let mut request_headers = read_back(self.request_headers.as_bytes());
        if let (Signatures::Masked, Some(headers)) = (signatures, request_headers.as_object_mut()) {
            let values = headers.iter_mut().filter(|(name, _)| SIGNATURES.contains(&name.as_str()));
            values.for_each(|(_, value)| *value = MASK.into());
        }
        json!({
            "id": self.id,
            "uuid": self.id.uuid(),
            "number": self.number,
            "started_at": timestamp(self.started_at),
            "duration_ms": self.duration_ms,
            "status": self.status,
            "error": self.error,
            "reason": self.reason,
            "resends": self.resends,
            "request_headers": request_headers,
            "response_headers": self.response_headers.map(|headers| read_back(headers.as_bytes())),
            "response_body": self.response_body.as_deref().map(String::from_utf8_lossy),
        })
    }
}

fn read_back(json: &[u8]) -> Value {
    serde_json::from_slice(json).expect("we wrote it as JSON ourselves")
}
