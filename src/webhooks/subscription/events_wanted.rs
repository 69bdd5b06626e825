//! The events a subscription wants: single names, whole groups, or all.

use crate::events::{Catalogue, UnknownEvent};

/// Most entries one subscription can list.
const MAX_ENTRIES: usize = 100;

/// A list of names (`order.created`), groups (`order.*`) and `*`; an empty one wants everything, as `*` does. Whether there are such
/// events is the catalogue's to say.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, sqlx::Type)]
#[serde(try_from = "Vec<String>")]
#[sqlx(transparent, no_pg_array)]
pub struct EventsWanted(Vec<String>);

/// More entries than anybody needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("A webhook lists at most {MAX_ENTRIES} events; * is all of them.")]
pub struct TooManyEvents;

impl EventsWanted {
    /// Refuses what the catalogue does not know.
    pub fn check(&self, catalogue: &Catalogue) -> Result<(), UnknownEvent> {
        let is_known = |entry: &str| match entry.strip_suffix(".*") {
            _ if entry == "*" => true,
            Some(group) => catalogue.has_group(group),
            None => catalogue.find(entry).is_some(),
        };
        match self.0.iter().find(|entry| !is_known(entry)) {
            None => Ok(()),
            Some(unknown) => Err(UnknownEvent(unknown.clone())),
        }
    }
}

impl TryFrom<Vec<String>> for EventsWanted {
    type Error = TooManyEvents;

    /// Keeps the entries as they were given, without repetitions.
    fn try_from(entries: Vec<String>) -> Result<Self, TooManyEvents> {
        if entries.len() > MAX_ENTRIES {
            return Err(TooManyEvents);
        }
        let mut wanted = Vec::with_capacity(entries.len());
        for entry in entries {
            if !wanted.contains(&entry) {
                wanted.push(entry);
            }
        }
        Ok(Self(wanted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(entries: &[&str]) -> Result<EventsWanted, TooManyEvents> {
        entries.iter().map(|entry| (*entry).to_owned()).collect::<Vec<_>>().try_into()
    }

    #[test]
    fn names_groups_and_all_of_the_catalogue_can_be_wanted() {
        for entries in [&[][..], &["*"], &["order.created", "driver.*"], &["proof_of_delivery.created"]] {
            let wanted = parse(entries).unwrap();
            wanted.check(&Catalogue::built_in()).unwrap();
            assert_eq!(wanted.0, entries);
        }
        assert_eq!(parse(&["order.*", "order.*"]).unwrap().0, ["order.*"]);
    }

    #[test]
    fn what_the_catalogue_does_not_know_is_refused() {
        for entry in ["", "order", "order.", "order.made", "orders.*", "*.created", "order.**", ".*", "Order.created", "**"] {
            let refused = parse(&["order.created", entry]).unwrap().check(&Catalogue::built_in());
            assert_eq!(refused, Err(UnknownEvent(entry.to_owned())));
        }
        assert_eq!(parse(&["*"; 101]), Err(TooManyEvents));
    }
}
