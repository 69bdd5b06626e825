//! The events a subscription wants: single names, whole groups, or all.

use std::str::FromStr;

use crate::events::{CATALOGUE, EventName};

/// Most entries one subscription can list.
const MAX_ENTRIES: usize = 100;

/// A list of names (`order.created`), groups (`order.*`) and `*`; an empty one wants everything, as `*` does.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, sqlx::Type)]
#[serde(try_from = "Vec<String>")]
#[sqlx(transparent, no_pg_array)]
pub struct EventsWanted(Vec<String>);

/// Why a list of events cannot be subscribed to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotSubscribable {
    /// The catalogue does not know this name or group.
    #[error("there is no event {0:?}; GET developers/int/v1/event-types lists them")]
    Unknown(String),
    /// More entries than anybody needs.
    #[error("a subscription lists at most 100 events; * is all of them")]
    TooMany,
}

impl EventsWanted {
    /// The entries as they were given, without repetitions.
    pub fn entries(&self) -> &[String] {
        &self.0
    }
}

impl TryFrom<Vec<String>> for EventsWanted {
    type Error = NotSubscribable;

    fn try_from(entries: Vec<String>) -> Result<Self, NotSubscribable> {
        let mut wanted: Vec<String> = Vec::with_capacity(entries.len().min(MAX_ENTRIES));
        for entry in entries {
            if !is_known(&entry) {
                return Err(NotSubscribable::Unknown(entry));
            }
            if !wanted.contains(&entry) {
                wanted.push(entry);
            }
        }
        if wanted.len() > MAX_ENTRIES { Err(NotSubscribable::TooMany) } else { Ok(Self(wanted)) }
    }
}

fn is_known(entry: &str) -> bool {
    match entry.strip_suffix(".*") {
        Some(group) => CATALOGUE.iter().any(|event_type| event_type.name.resource() == group),
        None => entry == "*" || EventName::from_str(entry).is_ok_and(|name| CATALOGUE.iter().any(|event_type| event_type.name == name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(entries: &[&str]) -> Result<EventsWanted, NotSubscribable> {
        entries.iter().map(|entry| (*entry).to_owned()).collect::<Vec<_>>().try_into()
    }

    #[test]
    fn names_groups_and_all_of_the_catalogue_can_be_wanted() {
        for entries in [&[][..], &["*"], &["order.created", "driver.*"], &["proof_of_delivery.created"]] {
            assert_eq!(parse(entries).unwrap().entries(), entries);
        }
        assert_eq!(parse(&["order.*", "order.*"]).unwrap().entries(), ["order.*"]);
    }

    #[test]
    fn what_the_catalogue_does_not_know_is_refused() {
        for entry in ["", "order", "order.", "order.made", "orders.*", "*.created", "order.**", ".*", "Order.created", "**"] {
            assert_eq!(parse(&["order.created", entry]), Err(NotSubscribable::Unknown(entry.to_owned())));
        }
    }
}
