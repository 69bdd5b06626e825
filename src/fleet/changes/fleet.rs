//! The events about a change of a fleet.

use crate::events::EventName;
use crate::fleet::drivers::Driver;
use crate::fleet::fleets::{self, FleetRecord};
use crate::fleet::vehicles::Vehicle;
use crate::resources::{Change, EventDoc, PublishesEvents, ReferencedBy};

impl PublishesEvents for FleetRecord {
    const EVENTS: &'static [EventDoc] = fleets::EVENTS;
    const REFERENCED_BY: &'static [ReferencedBy] = &[
        ReferencedBy::new::<Driver>("fleet_id", "Drivers belong to the fleet. Assign them to another fleet, or none, first."),
        ReferencedBy::new::<Vehicle>("fleet_id", "Vehicles belong to the fleet. Assign them to another fleet, or none, first."),
        ReferencedBy::new::<FleetRecord>("parent_id", "Other fleets are parts of this one. Assign them to another parent, or none, first."),
    ];

    fn events(change: &Change<'_, Self>) -> Vec<EventName> {
        vec![match change {
            Change::Created(_) => fleets::CREATED,
            Change::Updated(..) => fleets::UPDATED,
            Change::Deleted(_) => fleets::DELETED,
        }]
    }
}
