//! Lists, details and forms of every kind of record, drawn from the declaration of its fields.
//!
//! # Rooms
//!
//! From top to bottom; a room uses only rooms below it.
//!
//! ```text
//! list  detail             the pages
//! server                   a test of a server that the company has named, and a new secret for it
//! edit                     the forms
//! entry                    what a form asks for, and how what was entered becomes a body
//! event_picker             the choice of events
//! ```

mod detail;
mod edit;
mod entry;
mod event_picker;
mod list;
mod server;

use axum::Router;
use serde_json::Value;

use crate::callers::{Caller, Scope};
use crate::console::Console;
use crate::console::addresses::record_address;
use crate::console::cell::Cell;
use crate::console::kinds::Kinds;
use crate::console::shell::{PageError, Ui};
use crate::kernel::routing::{get, post};
use crate::resources::{KindDoc, Operation};

/// The pages, below the first page of the console or the portal.
pub(super) fn routes() -> Router<Console> {
    Router::new()
        .route("/records/{namespace}/{plural}", get(list::show))
        .route("/records/{namespace}/{plural}/new", get(edit::ask_new).merge(post(edit::create)))
        .route("/records/{namespace}/{plural}/{id}", get(detail::show))
        .route("/records/{namespace}/{plural}/{id}/edit", get(edit::ask_change).merge(post(edit::change)))
        .route("/records/{namespace}/{plural}/{id}/delete", get(detail::ask_delete).merge(post(detail::delete)))
        .route("/records/{namespace}/{plural}/{id}/test", get(server::ask_test).merge(post(server::test)))
        .route("/records/{namespace}/{plural}/{id}/rotate-secret", get(server::ask_rotate).merge(post(server::rotate)))
}

/// The kind of these names, if the caller may look at its records.
fn find_kind<'a>(kinds: &'a Kinds, caller: &Caller, namespace: &str, plural: &str) -> Result<&'a KindDoc, PageError> {
    kinds.find(caller, namespace, plural).ok_or(PageError::NOT_FOUND)
}

/// Whether the caller may do this to records of the kind.
fn may(caller: &Caller, kind: &KindDoc, operation: Operation) -> bool {
    let needed = if operation == Operation::Delete { kind.deleting } else { kind.writing };
    kind.operations.contains(&operation) && caller.grant.allows_all(needed)
}

/// Asks for a proof before somebody fills in a form that the API would refuse for lack of one.
fn require_proof(caller: &Caller, kind: &KindDoc) -> Result<(), PageError> {
    if kind.writing.iter().any(|(_, scope)| scope == Scope::Admin) {
        caller.require_proof()?;
    }
    Ok(())
}

/// A member of a record, as people read it.
pub(super) fn member(ui: &Ui, kinds: &Kinds, kind: &KindDoc, record: &Value, name: &str) -> Cell {
    let value = &record[name];
    // The ids of store keys look like those of API keys, but they have no page.
    if name == "record" && record["kind"] == "store_key" {
        return Cell::Text(value.as_str().unwrap_or_default().to_owned());
    }
    match kind.members.iter().find(|member| member.name == name) {
        Some(field) => Cell::of(ui, kinds, field, value),
        None => Cell::plain(ui, kinds, value),
    }
}

/// A link to the record with this id by its name; the id for who may not read it, or if it was deleted.
pub(super) async fn named(console: &Console, caller: &Caller, id: &str) -> Cell {
    let Some(kind) = console.kinds.find_of_id(caller, id) else { return Cell::Text(id.to_owned()) };
    match console.api.get(caller, &kind.record_path(id)).await {
        Ok(found) => Cell::Link { address: record_address(kind, id), text: title_of(&found.body[kind.descriptor.singular]) },
        Err(_) => Cell::Text(id.to_owned()),
    }
}

/// What people call a record: its name or the like, otherwise its id.
pub(super) fn title_of(record: &Value) -> String {
    let named = [
        "name",
        "internal_id",
        "title",
        "url",
        "email",
        "event",
        "subject",
        "report",
        "plate_number",
        "tracking_number",
        "gateway_transaction_id",
        "type",
        "owner",
    ];
    let text = |member: &str| record[member].as_str().filter(|text| !text.is_empty());
    named.into_iter().find_map(text).or_else(|| text("id")).unwrap_or_default().to_owned()
}
