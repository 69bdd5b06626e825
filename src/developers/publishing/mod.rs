//! Publishing by clients: `POST events` (`docs/specification/decisions.md`, section 7), one event or `{"events":[…]}`.
//!
//! Everything is validated before anything is stored: the names against the catalogue, each `data` against the schema of its event.
//! All events are then written by one statement and one commit. Without idempotency keys there is no explicit transaction, and
//! concurrent single events about no record share one statement and commit. One that is alone is published by the delivery hub
//! ([`Webhooks::publish`]), which most often sends it at once.
//!
//! An idempotency key is valid for a day. A repeated request returns the event that was published under the key, also among
//! concurrent requests: the key is written together with the event, and a request that finds the key taken rolls back and reads
//! what the other one wrote.

mod body;
mod keys;
mod queries;

use std::borrow::Borrow;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::json;
use uuid::Uuid;

use crate::callers::{Area, Caller, Scope};
use crate::companies::Admission;
use crate::developers::publishing::body::{Batch, Submitted};
use crate::developers::state::Developers;
use crate::events::{self, CommitNotifier, EventName, NewEvent};
use crate::kernel::clock::{self, Clock};
use crate::kernel::database::{self, Pool, repeated};
use crate::kernel::group_commit::GroupCommit;
use crate::kernel::group_metrics::GroupMetrics;
use crate::kernel::ids::{CompanyId, EventId};
use crate::kernel::json::JsonBody;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::openapi::{OperationDoc, object};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::request_body::Unread;
use crate::resources::{FieldType, Reference};
use crate::webhooks::Webhooks;

/// The maximum body size. It is larger than on other routes, because a request may contain many events.
pub(super) const BODY_LIMIT: usize = 1024 * 1024;
/// The maximum number of single events in a group: enough to be cheap, few enough to limit memory use with large events.
const MAX_SINGLES_PER_BATCH: usize = 50;

pub(super) fn doc() -> OperationDoc {
    let text = || json!({ "type": "string" });
    let event = object([
        ("id", Reference::<EventId>::schema()),
        ("uuid", json!({ "type": "string", "format": "uuid" })),
        ("event", text()),
        ("created_at", json!({ "type": "string", "format": "date-time" })),
    ]);
    let events = object([("events", json!({ "type": "array", "items": event }))]);
    let answer = json!({ "anyOf": [object([("event", event)]), events] });
    OperationDoc::new("Publish one or several events, each once per `idempotency_key`.")
        .taking_body(Batch::schema())
        .answering(StatusCode::OK, answer.clone())
        .answering(StatusCode::CREATED, answer)
        .refusing(&[ProblemCode::IdempotencyKeyUsed, ProblemCode::Overloaded])
}

/// `POST events`
pub(super) async fn publish(
    State(publishing): State<Publishing>,
    caller: Caller,
    admission: Admission,
    body: Unread<JsonBody<Submitted>>,
) -> Result<Response, Problem> {
    caller.require(Area::Traffic, Scope::Events)?;
    let JsonBody(submitted) = body.read().await?;
    let batch = Batch::read(submitted, &publishing.developers.catalogue, &caller)?;
    let is_single = batch.is_single;
    let published = publishing.publish(caller.company, batch, &admission).await?;
    Ok(answer(is_single, &published))
}

/// An event that was published by this request, or by an earlier one with the same idempotency key.
#[derive(Clone, Debug)]
pub(super) struct Published {
    id: EventId,
    name: EventName,
    at: DateTime<Utc>,
    repeated: bool,
}

/// What `POST events` needs beside the state of the other routes.
#[derive(Clone, Debug)]
pub struct Publishing {
    developers: Developers,
    /// Publishes single events in groups.
    single_publisher: SinglePublisher,
}

impl Publishing {
    /// Single events are published in groups, which `lifecycle` waits for on shutdown.
    pub fn new(developers: Developers, webhooks: Webhooks, notifier: CommitNotifier, lifecycle: &Lifecycle) -> Self {
        let single_publisher = single_publisher(&developers.pool, &developers.clock, webhooks, notifier, lifecycle);
        Self { developers, single_publisher }
    }

    /// Publishes all events of a batch, or none.
    async fn publish(&self, company: CompanyId, mut batch: Batch, admission: &Admission) -> Result<Vec<Published>, Problem> {
        if batch.has_keys() {
            return self.publish_once(company, &batch).await;
        }
        // An event about a record locks the sequence of the record until the commit. Two such events in one group could deadlock
        // with a change of both records, so only events about no record are grouped.
        match batch.events.pop_if(|event| batch.is_single && event.subject.is_none()) {
            Some(event) => {
                admission.leave_line();
                Ok(vec![self.single_publisher.write(Arc::new(event), batch.size).await?])
            }
            None => {
                let now = self.developers.clock.now();
                let publish = async || events::publish_all(&mut self.developers.pool.acquire().await?, &batch.events, now).await;
                let ids = repeated(publish).await?;
                Ok(published(&batch.events, ids, now))
            }
        }
    }

    /// What is measured of the queue of single events.
    pub fn group_metrics(&self) -> &GroupMetrics {
        self.single_publisher.metrics()
    }

    /// Deletes the idempotency keys that are older than 24 hours.
    pub async fn sweep(&self) -> Result<(), sqlx::Error> {
        let mut conn = self.developers.pool.acquire_patient().await?;
        queries::delete_keys_until(&mut conn, self.developers.clock.now() - keys::LIFETIME).await
    }
}

/// The group commit of single events about no record, over all companies.
type SinglePublisher = GroupCommit<Arc<NewEvent>, Published>;

fn single_publisher(pool: &Pool, clock: &Clock, webhooks: Webhooks, notifier: CommitNotifier, lifecycle: &Lifecycle) -> SinglePublisher {
    let (pool, clock) = (database::group_pool(pool, "publishing", 1), clock.clone());
    GroupCommit::new(lifecycle.clone(), MAX_SINGLES_PER_BATCH, move |events: Vec<Arc<NewEvent>>| {
        let (pool, webhooks, notifier, now) = (pool.clone(), webhooks.clone(), notifier.clone(), clock.now());
        async move {
            let mut conn = pool.acquire().await?;
            if let [event] = &*events
                && let Some(id) = webhooks.publish(&mut conn, event, now).await?
            {
                return Ok(published(&events, vec![id], now));
            }
            let ids = events::publish_without_notify(&mut conn, &events, now).await?;
            notifier.committed();
            Ok(published(&events, ids, now))
        }
    })
}

fn published(events: &[impl Borrow<NewEvent>], ids: Vec<EventId>, now: DateTime<Utc>) -> Vec<Published> {
    let published = |(event, id): (&NewEvent, EventId)| Published { id, name: event.name.clone(), at: now, repeated: false };
    events.iter().map(Borrow::borrow).zip(ids).map(published).collect()
}

/// 201 if any event is new, 200 if all were published before.
fn answer(is_single: bool, published: &[Published]) -> Response {
    let status = if published.iter().all(|event| event.repeated) { StatusCode::OK } else { StatusCode::CREATED };
    let body = match published {
        [event] if is_single => Answer::Event(event.present()),
        events => Answer::Events(events.iter().map(Published::present).collect()),
    };
    (status, Json(body)).into_response()
}

/// One event, or several.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Answer<'a> {
    Event(Presented<'a>),
    Events(Vec<Presented<'a>>),
}

/// Everything of an event except `data`, which the caller already has.
#[derive(Serialize)]
struct Presented<'a> {
    id: EventId,
    uuid: Uuid,
    event: &'a EventName,
    #[serde(serialize_with = "clock::as_timestamp")]
    created_at: DateTime<Utc>,
}

impl Published {
    fn present(&self) -> Presented<'_> {
        Presented { id: self.id, uuid: self.id.uuid(), event: &self.name, created_at: self.at }
    }
}
