//! What happened, told in one way on every page: that an event was published, and what somebody changed.

use serde_json::Value;

use crate::console::addresses::record_address;
use crate::console::cell::Cell;
use crate::console::sentence::Sentence;
use crate::console::shell::Ui;
use crate::resources::KindDoc;

/// That the event was published, with a link to it. `kind` describes events.
pub fn published(ui: &Ui, kind: &KindDoc, event: &Value) -> Sentence {
    Sentence::of(ui.t("The event {} was published."), [link(kind, event, event["event"].as_str().unwrap_or_default())])
}

/// What a change of the audit trail was, as a link to it: the changed fields, otherwise the act. `kind` describes changes.
pub fn act(kind: &KindDoc, change: &Value) -> Cell {
    let fields: Vec<_> = change["fields"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let act = change["action"].as_str().unwrap_or_default();
    link(kind, change, if fields.is_empty() { act.to_owned() } else { fields.join(", ") })
}

fn link(kind: &KindDoc, record: &Value, text: impl Into<String>) -> Cell {
    Cell::Link { address: record_address(kind, record["id"].as_str().unwrap_or_default()), text: text.into() }
}
