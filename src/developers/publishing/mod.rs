//! Publishing from outside: `POST events` (decisions, section 7), one event or `{"events":[…]}`.
//!
//! Everything is looked at before anything is stored: the names against the catalogue, each `data` against the schema of its event. Then
//! all events are one statement and one commit; without idempotency keys there is not even a transaction around it, and single events about
//! no record that come at the same moment share both.
//!
//! An idempotency key is good for a day. The event it stands for is answered again, whoever of many requests at the same moment was
//! first: the key is written with the event, and who finds it taken by somebody faster undoes everything and reads what that one wrote.

mod body;
mod keys;
mod queries;

use std::borrow::Borrow;
use std::sync::Arc;

use axum::Json as Answer;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::companies::{CallingCompany, Scope};
use crate::developers::Developers;
use crate::developers::publishing::body::Batch;
use crate::events::{self, EventName, NewEvent, News};
use crate::kernel::clock::{Clock, timestamp};
use crate::kernel::database;
use crate::kernel::group_commit::GroupCommit;
use crate::kernel::ids::{CompanyId, EventId};
use crate::kernel::json::Json;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::problem::Problem;

/// The largest body: many events at once need more room than other requests do.
pub(super) const BODY_LIMIT: usize = 1024 * 1024;
/// Single events that are published together at most: enough to be cheap, few enough that large ones take no great room.
const SINGLES: usize = 50;

/// `POST events`
pub(super) async fn publish(
    State(developers): State<Developers>,
    caller: CallingCompany,
    body: Result<Json<Box<RawValue>>, Problem>,
) -> Result<Response, Problem> {
    caller.may(Scope::Events)?;
    let batch = Batch::read(&body?.0, &developers.catalogue, caller.company)?;
    let is_single = batch.is_single;
    let published = developers.publish(caller.company, batch).await?;
    Ok(answer(is_single, &published))
}

/// An event that happened, by this request or by an earlier one under the same idempotency key.
#[derive(Clone, Debug)]
pub(super) struct Published {
    id: EventId,
    name: EventName,
    at: DateTime<Utc>,
    repeated: bool,
}

impl Developers {
    /// Publishes a batch, or nothing of it.
    async fn publish(&self, company: CompanyId, mut batch: Batch) -> Result<Vec<Published>, Problem> {
        if batch.has_keys() {
            return self.publish_once(company, &batch).await;
        }
        // One about a record locks the record's number until its commit: two such together could wait in a circle with a change of both
        // records.
        match batch.events.pop_if(|event| batch.is_single && event.subject.is_none()) {
            Some(event) => Ok(vec![self.singles.write(Arc::new(event)).await?]),
            None => {
                let now = self.clock.now();
                let ids = events::publish_all(&mut *self.pool.acquire().await?, &batch.events, now).await?;
                Ok(published(&batch.events, ids, now))
            }
        }
    }

    /// Forgets the idempotency keys of more than a day ago.
    pub async fn sweep(&self) -> Result<(), sqlx::Error> {
        let mut conn = self.pool.acquire().await?;
        queries::delete_keys_until(&mut conn, self.clock.now() - keys::LIFETIME).await
    }
}

/// Events about no record that come one by one, from anybody: those of the same moment are published together.
pub(super) type Singles = GroupCommit<Arc<NewEvent>, Published>;

/// Begins to gather them.
pub(super) fn singles(pool: &PgPool, clock: &Clock, news: News, lifecycle: &Lifecycle) -> Singles {
    let (connection, clock) = (database::kept_connection(pool), clock.clone());
    GroupCommit::new(lifecycle.clone(), SINGLES, move |events| {
        let (connection, news, now) = (connection.clone(), news.clone(), clock.now());
        async move {
            let mut conn = connection.acquire().await?;
            let ids = events::publish_untold(&mut conn, &events, now).await?;
            conn.keep();
            news.committed();
            Ok(published(&events, ids, now))
        }
    })
}

fn published(events: &[impl Borrow<NewEvent>], ids: Vec<EventId>, now: DateTime<Utc>) -> Vec<Published> {
    let published = |(event, id): (&NewEvent, EventId)| Published { id, name: event.name.clone(), at: now, repeated: false };
    events.iter().map(Borrow::borrow).zip(ids).map(published).collect()
}

/// 201 when anything is new, 200 when all of it was published before.
fn answer(is_single: bool, published: &[Published]) -> Response {
    let status = if published.iter().all(|event| event.repeated) { StatusCode::OK } else { StatusCode::CREATED };
    let mut events: Vec<_> = published.iter().map(Published::present).collect();
    let body = match is_single {
        true => json!({ "event": events.pop() }),
        false => json!({ "events": events }),
    };
    (status, Answer(body)).into_response()
}

impl Published {
    /// All but the `data`, which the caller has.
    fn present(&self) -> Value {
        json!({ "id": self.id, "uuid": self.id.uuid(), "event": self.name, "created_at": timestamp(self.at) })
    }
}
