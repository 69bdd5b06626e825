//! Event names that the catalogue knows.

use crate::events::{CATALOGUE, EventName};

/// An event that can happen.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(try_from = "String")]
pub struct KnownEvent(pub(super) EventName);

/// The catalogue does not know this name or group.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("There is no event {0:?}; GET /developers/int/v1/event-types lists them.")]
pub struct NoSuchEvent(pub(super) String);

impl TryFrom<String> for KnownEvent {
    type Error = NoSuchEvent;

    fn try_from(text: String) -> Result<Self, NoSuchEvent> {
        match text.parse() {
            Ok(name) if CATALOGUE.iter().any(|event_type| event_type.name == name) => Ok(Self(name)),
            _ => Err(NoSuchEvent(text)),
        }
    }
}

/// Whether any event belongs to `group`, the word before the dot.
pub(super) fn is_group(group: &str) -> bool {
    CATALOGUE.iter().any(|event_type| event_type.name.resource() == group)
}
