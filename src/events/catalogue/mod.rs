//! The event catalogue: every event type with its meaning, the schema of its `data` and a sample (interface 2, Events;
//! `docs/specification/decisions.md`, section 7).
//!
//! The events about a resource are declared beside it ([`events!`](crate::events)), and their schemas and samples follow from its
//! fields. The events whose `data` is not a record as a resource shows it are described in `documents/`, one file per group: the JSON
//! Schema (draft 2020-12) of the group's `data`, a sample, and the events with their meanings. An event may narrow the group's schema
//! with a merge patch (RFC 7396), and its sample may have other fields. If `data` lists no `required`, all of its `properties` are
//! required: a record always shows all of its fields, null if unknown. `common.json` contains definitions shared by the groups. They
//! are inserted in place of the `$ref`s to them, so that every schema that is served is self-contained. The code that publishes such
//! events uses the constants in [`names`], and a test checks that both lists are equal.
//!
//! A [`Catalogue`] is a value that is passed to the modules that need it: the service's own event types ([`Catalogue::new`]), extended
//! by [`Catalogue::with`] the event types that a deployment declares.

mod document;
mod event_type;
mod merge_patch;
pub mod names;

use std::sync::Arc;

use crate::callers::{Area, Grant};
use crate::events::EventName;

pub use document::documented;
pub use event_type::{EventType, InvalidEventType, Publisher};

/// All event types of this deployment.
#[derive(Clone, Debug)]
pub struct Catalogue(Arc<[Arc<EventType>]>);

/// A declared event type has an invalid name: the name is taken, or its group belongs to the service.
#[derive(Debug, thiserror::Error)]
#[error("{0} cannot be declared: the name is already used, or the group belongs to the service")]
pub struct NameTaken(pub EventName);

/// The catalogue does not contain this event name or group.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("There is no event {0:?}; GET /developers/int/v1/event-types lists them.")]
pub struct UnknownEvent(pub String);

impl Catalogue {
    /// The service's own event types.
    pub fn new(event_types: Vec<EventType>) -> Self {
        Self(event_types.into_iter().map(Arc::new).collect())
    }

    /// Adds declared event types. Refuses one whose name is taken, or whose group belongs to the service.
    pub fn with(self, declared: Vec<EventType>) -> Result<Self, NameTaken> {
        let mut all = self.0.to_vec();
        for event_type in declared {
            let name = &event_type.name;
            if self.has_group(name.resource()) || all.iter().any(|known| known.name == *name) {
                return Err(NameTaken(name.clone()));
            }
            all.push(event_type.into());
        }
        Ok(Self(all.into()))
    }

    /// The event type with this name.
    pub fn find(&self, name: &str) -> Option<&EventType> {
        self.iter().find(|event_type| event_type.name.as_str() == name)
    }

    /// The event type with this name, or an error.
    pub fn named(&self, name: &str) -> Result<&EventType, UnknownEvent> {
        self.find(name).ok_or_else(|| UnknownEvent(name.to_owned()))
    }

    /// Whether any event type is about records of the extension `namespace`.
    pub fn has_namespace(&self, namespace: &str) -> bool {
        self.iter().any(|event_type| event_type.namespace == namespace)
    }

    /// Whether any event type belongs to `group`, the part of the name before the dot.
    pub fn has_group(&self, group: &str) -> bool {
        self.iter().any(|event_type| event_type.name.resource() == group)
    }

    /// The names of the events about what `grant` does not reach.
    pub fn names_beyond(&self, grant: &Grant) -> Vec<String> {
        if Area::ALL.into_iter().all(|area| grant.sees_events_about(area)) {
            return Vec::new();
        }
        let beyond = self.iter().filter(|event_type| !grant.sees_events_about(event_type.area));
        beyond.map(|event_type| event_type.name.as_str().to_owned()).collect()
    }

    /// All event types, in the order of the documentation.
    pub fn iter(&self) -> impl Iterator<Item = &EventType> {
        self.0.iter().map(Arc::as_ref)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::callers::Reach;
    use serde_json::{Map, Value, json};

    fn declared(name: &str) -> EventType {
        let sample = Map::from_iter([("id".to_owned(), json!("parcel_1"))]);
        EventType::declared(name.parse().unwrap(), "parcels", "Declared.", json!({ "type": "object" }), sample).unwrap()
    }

    #[test]
    fn the_documents_and_the_names_of_the_code_are_the_same_and_each_stands_once() {
        let catalogue = Catalogue::new(documented());
        let mut documented: Vec<_> = catalogue.iter().map(|event_type| &event_type.name).collect();
        let mut named: Vec<_> = names::ALL.iter().collect();
        documented.sort();
        named.sort();
        assert_eq!(documented, named);
        assert!(named.windows(2).all(|two| two[0] != two[1]));
        assert!(named.iter().all(|name| name.as_str().parse::<EventName>().is_ok()));
    }

    #[test]
    fn an_event_is_beyond_a_grant_that_does_not_reach_what_it_is_about() {
        let catalogue = Catalogue::new(documented());
        let developer = Grant { reach: Reach { customers: None, ..Reach::FULL }, ..Grant::everything() };
        let beyond = catalogue.names_beyond(&developer);
        assert!(beyond.iter().all(|name| name.starts_with("customer.")) && beyond.len() == 7, "{beyond:?}");
        assert_eq!(catalogue.names_beyond(&Grant::everything()), [""; 0]);
        let owner = Some("7".to_owned().try_into().unwrap());
        assert_eq!(catalogue.names_beyond(&Grant { owner, ..developer }), [""; 0]);
    }

    #[test]
    fn an_event_narrows_what_its_group_allows() {
        let catalogue = Catalogue::new(documented());
        let failed = catalogue.find("payment.failed").unwrap();
        let mut data = Value::Object(failed.sample.clone());
        data["status"] = json!("pending");
        assert_eq!(failed.check(&data).unwrap_err().to_string(), "status: \"failed\" was expected");
        catalogue.find("payment.pending").unwrap().check(&data).unwrap();
        data.as_object_mut().unwrap().remove("gateway");
        assert!(catalogue.find("payment.pending").unwrap().check(&data).unwrap_err().to_string().contains("\"gateway\""));
    }

    #[test]
    fn what_is_declared_stands_beside_and_takes_nobodys_name() {
        let built_in = || Catalogue::new(documented());
        let catalogue = built_in().with(vec![declared("parcel.created"), declared("parcel.lost")]).unwrap();
        assert!(catalogue.has_group("parcel") && catalogue.find("parcel.lost").is_some());
        assert!(catalogue.find("customer.created").is_some() && catalogue.find("parcel.found").is_none());
        assert!(built_in().with(vec![declared("customer.lost")]).is_err());
        assert!(built_in().with(vec![declared("parcel.created"), declared("parcel.created")]).is_err());
    }
}
