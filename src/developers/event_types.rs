//! The catalogue of events, for whoever chooses what to subscribe to.

use axum::Json;
use serde_json::{Value, json};

use crate::companies::{CallingCompany, Scope};
use crate::events::{CATALOGUE, EventType};
use crate::kernel::problem::Problem;

/// `GET event-types`: all of them, in one answer.
pub(super) async fn list(caller: CallingCompany) -> Result<Json<Value>, Problem> {
    caller.may(Scope::Read)?;
    Ok(Json(json!({ "event_types": CATALOGUE.iter().map(present).collect::<Vec<_>>() })))
}

fn present(event_type: &EventType) -> Value {
    json!({ "name": event_type.name, "group": event_type.name.resource(), "description": event_type.meaning })
}
