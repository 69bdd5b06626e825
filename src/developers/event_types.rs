//! The event catalogue, for developers who choose subscriptions or write the code that receives events.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::callers::{Area, Scope};
use crate::companies::Authenticated;
use crate::developers::parameters::parameter_invalid;
use crate::developers::state::Developers;
use crate::events::{Catalogue, EventType};
use crate::kernel::openapi::{OperationDoc, QueryParameters, object};
use crate::kernel::problem::{Problem, ProblemCode};

const PARAMETERS: QueryParameters = &[
    ("namespace", "Only event types of this extension, for example `fleet`."),
    ("group", "Only event types of this group, the part of the name before the dot."),
    ("query", "Only event types whose name or description contains this text."),
    ("limit", "Event types per page, 1 to 100. Without it, all event types."),
    ("after", "The `meta.next` of the previous page."),
];

/// Maximum number of event types per page.
const MAX_LIMIT: usize = 100;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListQuery {
    namespace: Option<String>,
    group: Option<String>,
    #[serde(default)]
    query: String,
    limit: Option<usize>,
    after: Option<String>,
}

pub(super) fn list_doc() -> OperationDoc {
    let meta = [("per_page", json!({ "type": ["integer", "null"] })), ("next", json!({ "type": ["string", "null"] }))];
    let page = object([("event_types", json!({ "type": "array", "items": shown_schema() })), ("meta", object(meta))]);
    OperationDoc::new("List event types.").taking_query(PARAMETERS).answering(StatusCode::OK, page)
}

/// `GET event-types`: the event types that match the filters, in the order of the documentation; without `limit`, all of them.
pub(super) async fn list(
    State(developers): State<Developers>,
    authenticated: Authenticated,
    parameters: Result<Query<ListQuery>, QueryRejection>,
) -> Result<Json<Value>, Problem> {
    // The types are those of the deployment, and the same for everybody.
    authenticated.caller.require_within_owner(Area::Traffic, Scope::Read)?;
    authenticated.admitted().await?;
    let Query(query) = parameters.map_err(|error| parameter_invalid(error.body_text()))?;
    let wanted = query.choose(&developers.catalogue)?;
    let page = &wanted[..query.limit.unwrap_or(wanted.len()).min(wanted.len())];
    let next = page.last().filter(|_| page.len() < wanted.len()).map(|last| &last.name);
    let shown: Vec<_> = page.iter().copied().map(present).collect();
    Ok(Json(json!({ "event_types": shown, "meta": { "per_page": query.limit, "next": next } })))
}

impl ListQuery {
    /// The matching event types after the last page.
    fn choose<'a>(&self, catalogue: &'a Catalogue) -> Result<Vec<&'a EventType>, Problem> {
        if self.namespace.as_ref().is_some_and(|namespace| !catalogue.has_namespace(namespace)) {
            return Err(parameter_invalid("namespace must be that of an extension that has events."));
        }
        if self.group.as_ref().is_some_and(|group| !catalogue.has_group(group)) {
            return Err(parameter_invalid("group must be one that has events, such as order."));
        }
        if self.limit.is_some_and(|limit| !(1..=MAX_LIMIT).contains(&limit)) {
            return Err(parameter_invalid(format!("limit must be a whole number from 1 to {MAX_LIMIT}.")));
        }
        let words = self.query.to_lowercase();
        let mut wanted = catalogue.iter().filter(|event_type| self.is_of_those(event_type) && has(event_type, &words));
        if let Some(after) = &self.after
            && !wanted.any(|event_type| event_type.name.as_str() == after)
        {
            return Err(parameter_invalid("after must be the meta.next of this list."));
        }
        Ok(wanted.collect())
    }

    fn is_of_those(&self, event_type: &EventType) -> bool {
        self.namespace.as_ref().is_none_or(|namespace| event_type.namespace == *namespace)
            && self.group.as_ref().is_none_or(|group| event_type.name.resource() == group)
    }
}

fn has(event_type: &EventType, words: &str) -> bool {
    event_type.name.as_str().contains(words) || event_type.meaning.to_lowercase().contains(words)
}

pub(super) fn find_doc() -> OperationDoc {
    let found = object([("event_type", shown_schema())]);
    OperationDoc::new("Find an event type.").at("name", "The event name, such as `order.created`.").answering(StatusCode::OK, found)
}

/// `GET event-types/{name}`
pub(super) async fn find(
    State(developers): State<Developers>,
    authenticated: Authenticated,
    Path(name): Path<String>,
) -> Result<Json<Value>, Problem> {
    // The types are those of the deployment, and the same for everybody.
    authenticated.caller.require_within_owner(Area::Traffic, Scope::Read)?;
    authenticated.admitted().await?;
    let event_type = developers.catalogue.find(&name).ok_or(ProblemCode::RecordNotFound)?;
    Ok(Json(json!({ "event_type": present(event_type) })))
}

fn shown_schema() -> Value {
    let text = || json!({ "type": "string" });
    object([
        ("name", text()),
        ("namespace", text()),
        ("group", text()),
        ("description", text()),
        ("published_by", text()),
        ("schema", json!({ "type": ["object", "boolean"], "description": "The JSON Schema of `data`." })),
        ("sample", json!({ "type": "object", "description": "An example of a request body." })),
    ])
}

fn present(event_type: &EventType) -> Value {
    json!({
        "name": event_type.name,
        "namespace": event_type.namespace,
        "group": event_type.name.resource(),
        "description": event_type.meaning,
        "published_by": event_type.publisher,
        "schema": event_type.schema(),
        "sample": event_type.sample_body(),
    })
}
