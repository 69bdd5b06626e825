//! The events a subscription wants: single names, whole groups, or all.

use crate::webhooks::subscription::known_event::{KnownEvent, NoSuchEvent, is_group};

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
    /// There is no such event or group.
    #[error(transparent)]
    Unknown(#[from] NoSuchEvent),
    /// More entries than anybody needs.
    #[error("A webhook lists at most 100 events; * is all of them.")]
    TooMany,
}

impl TryFrom<Vec<String>> for EventsWanted {
    type Error = NotSubscribable;

    /// Keeps the entries as they were given, without repetitions.
    fn try_from(entries: Vec<String>) -> Result<Self, NotSubscribable> {
        if entries.len() > MAX_ENTRIES {
            return Err(NotSubscribable::TooMany);
        }
        let mut wanted = Vec::with_capacity(entries.len());
        for entry in entries {
            check(&entry)?;
            if !wanted.contains(&entry) {
                wanted.push(entry);
            }
        }
        Ok(Self(wanted))
    }
}

fn check(entry: &str) -> Result<(), NoSuchEvent> {
    match entry.strip_suffix(".*") {
        _ if entry == "*" => Ok(()),
        Some(group) if is_group(group) => Ok(()),
        Some(_) => Err(NoSuchEvent(entry.to_owned())),
        None => KnownEvent::try_from(entry.to_owned()).map(drop),
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
            assert_eq!(parse(entries).unwrap().0, entries);
        }
        assert_eq!(parse(&["order.*", "order.*"]).unwrap().0, ["order.*"]);
    }

    #[test]
    fn what_the_catalogue_does_not_know_is_refused() {
        for entry in ["", "order", "order.", "order.made", "orders.*", "*.created", "order.**", ".*", "Order.created", "**"] {
            assert_eq!(parse(&["order.created", entry]), Err(NoSuchEvent(entry.to_owned()).into()));
        }
        assert_eq!(parse(&["*"; 101]), Err(NotSubscribable::TooMany));
    }
}
