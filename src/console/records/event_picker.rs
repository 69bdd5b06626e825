//! The choice of events, grouped by what they are about.

use serde::Deserialize;

/// An event type, as the API lists it.
#[derive(Debug, Deserialize)]
pub struct EventType {
    /// The name: `order.created`.
    pub name: String,
    /// What it is about: `order`.
    pub group: String,
    /// What it means.
    pub description: String,
}

/// Checkboxes for all events, for groups and for single ones.
pub struct EventPicker {
    /// Whether all events are chosen.
    pub all: bool,
    /// The groups, in the order of the catalogue.
    pub groups: Vec<Group>,
}

/// The events about one kind of thing.
pub struct Group {
    /// What they are about.
    pub name: String,
    /// Whether the group is chosen as a whole, with events that are added later.
    pub whole: bool,
    /// Whether any of it is chosen.
    pub open: bool,
    /// Each event with its meaning, and whether it is chosen by itself.
    pub events: Vec<(String, String, bool)>,
}

impl EventPicker {
    /// The choice that a list of names makes.
    pub(super) fn of(event_types: &[EventType], entered: &[String]) -> Self {
        let wants = |entry: &str| entered.iter().any(|wanted| wanted == entry);
        let mut groups: Vec<Group> = Vec::new();
        for EventType { name, group, description } in event_types {
            let index = groups.iter().position(|known| known.name == *group).unwrap_or_else(|| {
                let whole = wants(&format!("{group}.*"));
                groups.push(Group { name: group.clone(), whole, open: whole, events: Vec::new() });
                groups.len() - 1
            });
            let chosen = wants(name);
            groups[index].open |= chosen;
            groups[index].events.push((name.clone(), description.clone(), chosen));
        }
        Self { all: wants("*"), groups }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_a_group_or_single_events_are_chosen() {
        let event_type =
            |name: &str| EventType { name: name.to_owned(), group: name.split('.').next().unwrap().to_owned(), description: String::new() };
        let types = ["order.created", "driver.online", "order.updated"].map(event_type);
        let chosen = |entered: &str| {
            let picker = EventPicker::of(&types, &[entered.to_owned()]);
            let groups = picker.groups.iter().map(|group| (group.name.clone(), group.whole, group.open)).collect::<Vec<_>>();
            (picker.all, groups)
        };
        let groups = |order: (bool, bool)| vec![("order".to_owned(), order.0, order.1), ("driver".to_owned(), false, false)];
        assert_eq!(chosen("order.updated"), (false, groups((false, true))));
        assert_eq!(chosen("order.*"), (false, groups((true, true))));
        assert_eq!(chosen("*"), (true, groups((false, false))));
    }
}
