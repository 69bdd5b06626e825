//! The events that a subscription wants: single names, whole groups, or all.

use serde_json::json;

use crate::callers::Area;
use crate::events::{Catalogue, UnknownEvent};
use crate::resources::Input;

/// Maximum number of entries of one list.
const MAX_ENTRIES: usize = 100;

/// A list of event names (`order.created`), groups (`order.*`) and `*`. An empty list wants all events, as `*` does.
/// [`EventFilter::check`] verifies that the events exist.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, sqlx::Type)]
#[serde(try_from = "Vec<String>")]
#[sqlx(transparent, no_pg_array)]
pub struct EventFilter(Vec<String>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("At most {MAX_ENTRIES} events can be listed; * means all events.")]
pub struct TooManyEvents;

impl EventFilter {
    /// Whether the event with this name is wanted, as fan-out decides it.
    pub fn wants(&self, name: &str) -> bool {
        let group = name.split('.').next().unwrap_or_default();
        let is_wanted = |entry: &String| entry == "*" || entry == name || entry.strip_suffix(".*") == Some(group);
        self.0.is_empty() || self.0.iter().any(is_wanted)
    }

    /// The entries, for a statement.
    pub fn entries(&self) -> &[String] {
        &self.0
    }

    /// The entries, for a sentence.
    pub fn names(&self) -> String {
        if self.0.is_empty() { "all events".to_owned() } else { self.0.join(", ") }
    }

    /// The parts of a company's data that the wanted events are about.
    pub fn areas<'a>(&'a self, catalogue: &'a Catalogue) -> impl Iterator<Item = Area> + 'a {
        let is_wanted = move |area: &Area| catalogue.iter().any(|event| event.area == *area && self.wants(event.name.as_str()));
        Area::ALL.into_iter().filter(is_wanted)
    }

    /// Refuses entries that are not in the catalogue.
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

crate::field_type!(
    EventFilter => Self,
    json!({ "type": "array", "items": { "type": "string" } }),
    asked by Input::Events,
    initially Self::default()
);

impl TryFrom<Vec<String>> for EventFilter {
    type Error = TooManyEvents;

    /// Keeps the order of the entries and removes duplicates.
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
    use crate::events::documented;

    fn parse(entries: &[&str]) -> Result<EventFilter, TooManyEvents> {
        entries.iter().map(|entry| (*entry).to_owned()).collect::<Vec<_>>().try_into()
    }

    #[test]
    fn names_groups_and_all_of_the_catalogue_can_be_wanted() {
        for entries in [&[][..], &["*"], &["customer.created", "payment.*"], &["refund.failed"]] {
            let wanted = parse(entries).unwrap();
            wanted.check(&Catalogue::new(documented())).unwrap();
            assert_eq!(wanted.0, entries);
        }
        assert_eq!(parse(&["order.*", "order.*"]).unwrap().0, ["order.*"]);
    }

    #[test]
    fn an_event_is_wanted_by_its_name_its_group_or_as_any() {
        for (entries, wanted) in [
            (&[][..], true),
            (&["*"], true),
            (&["order.created"], true),
            (&["order.*"], true),
            (&["order.updated", "driver.*"], false),
            (&["ord.*"], false),
        ] {
            assert_eq!(parse(entries).unwrap().wants("order.created"), wanted, "{entries:?}");
        }
    }

    #[test]
    fn who_wants_everything_or_events_about_customers_reads_customers() {
        for (entries, areas) in [
            (&[][..], &[Area::Customers, Area::Business, Area::Integration][..]),
            (&["*"], &[Area::Customers, Area::Business, Area::Integration]),
            (&["customer.*"], &[Area::Customers]),
            (&["customer.contact_changed", "texts.*"], &[Area::Customers, Area::Integration]),
            (&["payment.*", "refund.failed"], &[Area::Business]),
        ] {
            let catalogue = Catalogue::new(documented());
            assert_eq!(parse(entries).unwrap().areas(&catalogue).collect::<Vec<_>>(), areas, "{entries:?}");
        }
    }

    #[test]
    fn what_the_catalogue_does_not_know_is_refused() {
        for entry in
            ["", "customer", "customer.", "customer.made", "customers.*", "*.created", "customer.**", ".*", "Customer.created", "**"]
        {
            let refused = parse(&["customer.created", entry]).unwrap().check(&Catalogue::new(documented()));
            assert_eq!(refused, Err(UnknownEvent(entry.to_owned())));
        }
        assert_eq!(parse(&["*"; 101]), Err(TooManyEvents));
    }
}
