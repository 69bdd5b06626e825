//! Reading along: `GET events/stream`, server-sent events for those who cannot host an endpoint (decisions, section 7).
//!
//! A stream tells the events of one company, each as it is sent to endpoints, and begins with what happens from now on or behind the event
//! that `Last-Event-ID` (or `after`) names. It misses nothing: it reads in the order of transactions and no further than to the oldest one
//! that is still open, so no event can appear behind it. An event is told when it is committed and no older transaction is open; that is
//! at once, unless somebody holds one open for long.
//!
//! A stream holds no connection of the pool while it waits, and in memory no more than one page; who reads slowly is read for slowly. One
//! task of each instance looks for all of its streams, once a second and whenever something was committed, and wakes those of the companies
//! whose events came; that only hurries what they would find by looking. The number of streams is bounded. A stream ends after a while
//! (`streams.lifetime`), and when the service stops: clients come back by themselves, with an API key that is looked at again.

mod feed;
mod gate;
mod listening;
mod position;
mod queries;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderName};
use axum::response::IntoResponse;
use axum::response::sse::{KeepAlive, Sse};
use serde::Deserialize;

use crate::companies::{CallingCompany, Scope};
use crate::developers::stream::feed::{Beginning, Feed};
use crate::developers::stream::gate::Gate;
use crate::developers::stream::listening::Listening;
use crate::developers::{Developers, parameter_invalid};
use crate::kernel::ids::EventId;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::settings;
use crate::resources::Parameters;
use crate::webhooks::EventsWanted;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// `[streams]`
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// A silent stream says so often that it is still there.
    #[serde(deserialize_with = "settings::time")]
    pub heartbeat: Duration,
    /// How long one stream lasts; then its client comes back with its key.
    #[serde(deserialize_with = "settings::time")]
    pub lifetime: Duration,
}

/// What all streams of this instance share.
#[derive(Clone, Debug)]
pub(super) struct Streams {
    settings: Settings,
    gate: Arc<Gate>,
    listening: Arc<Listening>,
    lifecycle: Lifecycle,
}

impl Streams {
    pub(super) fn new(settings: Settings, lifecycle: Lifecycle) -> Self {
        Self { settings, gate: Arc::default(), listening: Arc::default(), lifecycle }
    }
}

/// What may be asked.
pub(super) const PARAMETERS: Parameters = &[
    ("events", "Names, groups and `*`, separated by commas; without it, all."),
    ("after", "What `Last-Event-ID` says, for clients that cannot send it."),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    /// Names, groups and `*`, separated by commas; without it, all.
    #[serde(default)]
    events: String,
    /// What `Last-Event-ID` says, for clients that cannot send it.
    after: Option<String>,
}

/// `GET events/stream`
pub(super) async fn stream(
    State(developers): State<Developers>,
    caller: CallingCompany,
    headers: HeaderMap,
    parameters: Result<Query<Asked>, axum::extract::rejection::QueryRejection>,
) -> Result<impl IntoResponse, Problem> {
    caller.may(Scope::Read)?;
    let Query(parameters) = parameters.map_err(|error| parameter_invalid(error.body_text()))?;
    let wanted = developers.events_wanted(&parameters.events)?;
    let after = last_event_id(&headers, parameters.after)?;
    let begins = developers.beginning(&caller, after).await?;
    let feed = Feed::open(&developers, caller.company, wanted, begins)?;
    let keep_alive = KeepAlive::new().interval(developers.streams.settings.heartbeat).text("");
    // A proxy that gathers what is said would keep it until much more has been said.
    Ok(([("x-accel-buffering", "no")], Sse::new(feed.into_stream()).keep_alive(keep_alive)))
}

impl Developers {
    fn events_wanted(&self, listed: &str) -> Result<EventsWanted, Problem> {
        let entries = listed.split(',').map(str::trim).filter(|entry| !entry.is_empty()).map(str::to_owned).collect::<Vec<_>>();
        let wanted = EventsWanted::try_from(entries).map_err(|error| parameter_invalid(error.to_string()))?;
        wanted.check(&self.catalogue).map_err(|unknown| parameter_invalid(unknown.to_string()))?;
        Ok(wanted)
    }

    /// Behind the event, or behind the last there is. The client is told which one that is: so it can come back even when the connection
    /// is lost before anything happened.
    async fn beginning(&self, caller: &CallingCompany, after: Option<EventId>) -> Result<Beginning, Problem> {
        let mut conn = self.pool.acquire().await?;
        let after = match after {
            None => queries::find_last_event(&mut conn, caller.company).await?,
            event => event,
        };
        let Some(event) = after else { return Ok(Beginning::default()) };
        let position = queries::find_position(&mut conn, caller.company, event).await?.ok_or_else(|| gone(event))?;
        Ok(Beginning { position, after })
    }
}

/// A header that a client sends by itself when it comes back stands above what was once in the address.
fn last_event_id(headers: &HeaderMap, after: Option<String>) -> Result<Option<EventId>, Problem> {
    let header = headers.get(LAST_EVENT_ID).map(|value| value.to_str().unwrap_or_default().to_owned());
    let Some(text) = header.or(after).filter(|text| !text.is_empty()) else { return Ok(None) };
    text.parse().map(Some).map_err(|_| parameter_invalid("after must be the id of an event."))
}

/// Told rather than passed over: whoever was away for too long has missed something.
fn gone(event: EventId) -> Problem {
    let detail = format!("There is no event {event}, or not any more: begin without it, and look up what was missed in the log of events.");
    Problem::new(ProblemCode::RecordNotFound).detail(detail)
}
