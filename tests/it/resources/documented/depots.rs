//! The resource of `docs/extensions.md`, as the page shows it.

use super::callers::Area;
use super::events::EventName;
use super::fleet::Fleet;
use super::fleet::fleets::FleetRecord;
use super::kernel::ids::DepotId;
use super::kernel::problem::{FieldErrors, Problem};
use super::resources::{
    Change, EventDoc, Instant, Line, Link, Meta, NumberIn, PublishesEvents, Record, RecordTransaction, Resource, Validated,
};

super::text_enum! {
    /// Whether a depot accepts parcels.
    pub enum DepotStatus, default Open {
        /// The depot accepts parcels.
        Open = "open",
        /// The depot accepts no more parcels.
        Closed = "closed",
    }
}

super::fields! {
    /// A depot.
    pub struct Depot, body DepotBody {
        /// The name.
        #[sample = "Harbour"] #[searched]
        name: Line<255>,
        /// Whether the depot accepts parcels.
        #[filtered]
        status: DepotStatus,
        /// The fleet that serves the depot.
        #[filtered]
        fleet_id as "fleet": Option<Link<FleetRecord>>,
        /// Latitude in degrees.
        latitude: Option<NumberIn<-90, 90>>,
        /// Longitude in degrees.
        longitude: Option<NumberIn<-180, 180>>,
        /// Any data of the company.
        meta: Meta,
    }
    read_only {
        /// When the depot was closed.
        closed_at: Option<Instant>,
    }
}

super::events! {
    /// The events about depots.
    pub const EVENTS {
        /// Depot created.
        CREATED = "depot.created";
        /// Depot updated.
        UPDATED = "depot.updated";
        /// Depot deleted.
        DELETED = "depot.deleted";
    }
}

impl Resource for Depot {
    type Id = DepotId;
    type State = Fleet;

    const SINGULAR: &'static str = "depot";
    const PLURAL: &'static str = "depots";
    const AREA: Area = Area::Business;
}

impl PublishesEvents for Depot {
    const EVENTS: &'static [EventDoc] = EVENTS;

    fn events(change: &Change<'_, Self>) -> Vec<EventName> {
        vec![match change {
            Change::Created(_) => CREATED,
            Change::Updated(..) => UPDATED,
            Change::Deleted(_) => DELETED,
        }]
    }
}

impl Validated for Depot {
    async fn validate(transaction: &mut RecordTransaction<Fleet>, before: Option<&Record<Self>>, depot: &mut Self) -> Result<(), Problem> {
        if depot.latitude.is_some() != depot.longitude.is_some() {
            return Err(FieldErrors::one("longitude", "A place has a latitude and a longitude."));
        }
        depot.closed_at = match depot.status {
            DepotStatus::Open => None,
            DepotStatus::Closed => before.and_then(|before| before.fields.closed_at).or(Some(transaction.now)),
        };
        Ok(())
    }
}
