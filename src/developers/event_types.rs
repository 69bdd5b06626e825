//! The event catalogue, for developers who choose subscriptions or write the code that receives events.

use axum::Json;
use axum::extract::{Path, State};
use serde_json::{Value, json};

use crate::companies::{CallingCompany, Scope};
use crate::developers::Developers;
use crate::events::EventType;
use crate::kernel::problem::{Problem, ProblemCode};

/// `GET event-types`: all event types, without pagination.
pub(super) async fn list(State(developers): State<Developers>, caller: CallingCompany) -> Result<Json<Value>, Problem> {
    caller.may(Scope::Read)?;
    Ok(Json(json!({ "event_types": developers.catalogue.iter().map(present).collect::<Vec<_>>() })))
}

/// `GET event-types/{name}`
pub(super) async fn find(
    State(developers): State<Developers>,
    caller: CallingCompany,
    Path(name): Path<String>,
) -> Result<Json<Value>, Problem> {
    caller.may(Scope::Read)?;
    let event_type = developers.catalogue.find(&name).ok_or(ProblemCode::RecordNotFound)?;
    Ok(Json(json!({ "event_type": present(event_type) })))
}

fn present(event_type: &EventType) -> Value {
    json!({
        "name": event_type.name,
        "group": event_type.name.resource(),
        "description": event_type.meaning,
        "published_by": event_type.publisher,
        "schema": event_type.schema(),
        "sample": event_type.sample_body(),
    })
}
