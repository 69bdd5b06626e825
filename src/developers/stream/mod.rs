//! The event stream: `GET events/stream`, server-sent events for clients that cannot host an endpoint
//! (`docs/specification/decisions.md`, section 7).
//!
//! A stream sends the events of one company, each in the form in which it is sent to endpoints. It starts with new events, or after
//! the event named by `Last-Event-ID` (or `after`). It misses no event: it reads the feed of the company, whose numbers are given one
//! after the other as events leave the outbox, so that no event can later appear at an earlier position. An event is sent when it has been
//! fanned out.
//!
//! A stream holds no database connection while it waits, and at most one page in memory. It reads no faster than its client. One
//! task per instance polls for all streams, once a second and after each fan-out, and wakes the streams of the companies that have
//! new events. This only speeds up what their own polling would find. The number of streams is limited. A stream ends after
//! `streams.lifetime` or with its API key, whether its client reads or not, and on shutdown. Clients then reconnect automatically, and
//! their API key is verified again.

mod feed;
mod feed_listener;
mod limit;
mod metrics;
mod queries;

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::IntoResponse;
use axum::response::sse::{KeepAlive, Sse};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::watch;

use crate::callers::{Area, Caller, Scope};
use crate::companies::{Authenticated, Standing, moving};
use crate::developers::parameters::parameter_invalid;
use crate::developers::state::Developers;
use crate::developers::stream::feed::{Beginning, Feed};
use crate::developers::stream::feed_listener::FeedListener;
use crate::developers::stream::limit::StreamLimit;
use crate::developers::stream::metrics::Metrics;
use crate::kernel::database::Connection;
use crate::kernel::http_server::EndsAt;
use crate::kernel::ids::EventId;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::metrics::Registry;
use crate::kernel::openapi::{OperationDoc, QueryParameters};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::settings;
use crate::webhooks::EventFilter;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// `[streams]`
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The heartbeat interval of a silent stream.
    #[serde(deserialize_with = "settings::time")]
    pub heartbeat: Duration,
    /// How long one stream lasts. The client then reconnects with its key.
    #[serde(deserialize_with = "settings::time")]
    pub lifetime: Duration,
}

/// The shared state of all streams of this instance.
#[derive(Clone, Debug)]
pub struct Streams {
    developers: Developers,
    settings: Settings,
    limit: Arc<StreamLimit>,
    listener: Arc<FeedListener>,
    lifecycle: Lifecycle,
    metrics: Metrics,
}

impl Streams {
    /// Builds the state. Streams end when `lifecycle` ends. `fanned_out` changes when this instance has fanned out events.
    pub fn new(developers: Developers, settings: Settings, lifecycle: Lifecycle, fanned_out: watch::Receiver<()>) -> Self {
        let listener = Arc::new(FeedListener::new(fanned_out));
        Self { developers, settings, limit: Arc::new(StreamLimit::new()), listener, lifecycle, metrics: Metrics::default() }
    }

    /// Registers what is measured of streams.
    pub fn register(&self, registry: &mut Registry) {
        self.metrics.register(registry);
    }
}

const PARAMETERS: QueryParameters = &[
    ("events", "Event names, groups such as `order.*`, or `*`, separated by commas. Default: all events."),
    ("after", "The id of the last event received, for clients that cannot send the header `Last-Event-ID`."),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StreamQuery {
    /// Event names, groups and `*`, separated by commas; all events if empty.
    #[serde(default)]
    events: String,
    /// The value of `Last-Event-ID`, for clients that cannot send the header.
    after: Option<String>,
}

pub(super) fn doc() -> OperationDoc {
    let stream = json!({ "description": "Server-sent events, each as it is sent to endpoints.", "content": { "text/event-stream": {} } });
    OperationDoc::new("Stream events as they are published.")
        .taking_query(PARAMETERS)
        .answering_with(StatusCode::OK, stream)
        .refusing(&[ProblemCode::RecordNotFound, ProblemCode::Overloaded])
}

/// `GET events/stream`
pub(super) async fn stream(
    State(streams): State<Streams>,
    authenticated: Authenticated,
    headers: HeaderMap,
    parameters: Result<Query<StreamQuery>, axum::extract::rejection::QueryRejection>,
) -> Result<impl IntoResponse, Problem> {
    authenticated.caller.require(Area::Traffic, Scope::Read)?;
    let Query(parameters) = parameters.map_err(|error| parameter_invalid(error.body_text()))?;
    let wanted = streams.event_filter(&parameters.events)?;
    wanted.areas(&streams.developers.catalogue).try_for_each(|area| authenticated.caller.require(area, Scope::Read))?;
    let caller = authenticated.admitted().await?;
    let after = last_event_id(&headers, parameters.after)?;
    let begins = streams.beginning(&caller, after).await?;
    let feed = Feed::open(&streams, &caller, wanted, begins)?;
    let keep_alive = KeepAlive::new().interval(streams.settings.heartbeat).text("");
    let ends_at = Extension(EndsAt(feed.ends_at()));
    // Prevents a proxy from buffering the events.
    Ok((ends_at, [("x-accel-buffering", "no")], Sse::new(feed.into_stream()).keep_alive(keep_alive)))
}

impl Streams {
    fn event_filter(&self, listed: &str) -> Result<EventFilter, Problem> {
        let entries = listed.split(',').map(str::trim).filter(|entry| !entry.is_empty()).map(str::to_owned).collect::<Vec<_>>();
        let wanted = EventFilter::try_from(entries).map_err(|error| parameter_invalid(error.to_string()))?;
        wanted.check(&self.developers.catalogue).map_err(|unknown| parameter_invalid(unknown.to_string()))?;
        Ok(wanted)
    }

    /// How long a stream of this caller lasts: not beyond the end of its API key.
    fn lifetime_of(&self, caller: &Caller) -> Duration {
        let left = caller.grant.until.map(|end| (end - self.developers.clock.now()).to_std().unwrap_or_default());
        left.map_or(self.settings.lifetime, |left| left.min(self.settings.lifetime))
    }

    /// Starts after the given event, or after the last one. The client is sent the id of that event, so that it can resume even if
    /// the connection is lost before the next event.
    async fn beginning(&self, caller: &Caller, after: Option<EventId>) -> Result<Beginning, Problem> {
        let mut conn = self.developers.pool.acquire().await?;
        let Some(event) = after else {
            let (after, number) = queries::find_last(&mut conn, caller.company).await?.unzip();
            return Ok(Beginning { behind: number.unwrap_or(0), after, awaits: false });
        };
        let found = queries::find_position(&mut conn, caller.company, event).await?;
        if moving::awaits_its_log(&mut conn, caller.company).await? {
            self.must_be_there(&mut conn, caller, found.map(|(behind, _)| behind)).await?;
        }
        let (behind, awaits) = found.ok_or_else(|| gone(event))?;
        Ok(Beginning { behind, after, awaits })
    }

    /// Refuses a position of a company that has moved if events behind it are still on their way. The latest come first.
    async fn must_be_there(&self, conn: &mut Connection, caller: &Caller, behind: Option<i64>) -> Result<(), Problem> {
        let first = queries::find_first(conn, caller.company).await?;
        match (behind, first) {
            (Some(behind), Some((_, first))) if behind + 1 >= first => Ok(()),
            _ => Standing::Moving.must_be_open(),
        }
    }
}

/// The header, which a client sends automatically when it reconnects, takes precedence over the query parameter of the original URL.
fn last_event_id(headers: &HeaderMap, after: Option<String>) -> Result<Option<EventId>, Problem> {
    let header = headers.get(LAST_EVENT_ID).map(|value| value.to_str().unwrap_or_default().to_owned());
    let Some(text) = header.or(after).filter(|text| !text.is_empty()) else { return Ok(None) };
    text.parse().map(Some).map_err(|_| parameter_invalid("after must be the id of an event."))
}

/// An error and not an empty stream, because a client that was away for too long has missed events.
fn gone(event: EventId) -> Problem {
    let detail = format!("There is no event {event}, or it was deleted. Start without it, and find missed events in the event log.");
    Problem::new(ProblemCode::RecordNotFound).detail(detail)
}
