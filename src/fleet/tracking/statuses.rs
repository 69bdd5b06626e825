//! Tracking statuses: each status that an order reached with its time, and statuses recorded manually in between.

use crate::callers::Area;
use crate::events::EventName;
use crate::fleet::Fleet;
use crate::fleet::location::{self, Latitude, Longitude};
use crate::fleet::orders::Order;
use crate::fleet::orders::status::Status;
use crate::fleet::tracking::word::{TrackingWord, is_order_status};
use crate::kernel::ids::{OrderId, TrackingStatusId};
use crate::kernel::problem::{FieldErrors, Problem};
use crate::resources::{Change, EventDoc, Line, Link, Meta, PublishesEvents, Record, RecordTransaction, Resource, Text, Validated};

crate::fields! {
    /// A status that an order reached.
    pub struct TrackingStatus, body TrackingStatusBody {
        /// The status, one word of lower-case letters, digits and underscores.
        #[sample = "started"] #[filtered]
        status: TrackingWord,
        /// The order.
        #[filtered]
        order_id as "order": Link<Order>,
        /// Details for the recipient.
        details: Option<Text<500>>,
        /// The place, as text.
        place: Option<Line<255>>,
        /// Latitude of the place, in degrees north.
        latitude: Option<Latitude>,
        /// Longitude of the place, in degrees east.
        longitude: Option<Longitude>,
        /// Free-form data of the shop.
        meta: Meta,
    }
}

impl TrackingStatus {
    /// The tracking status that is recorded when an order reaches a status.
    pub fn reached(order: OrderId, status: Status) -> Self {
        let (details, place, latitude, longitude, meta) = Default::default();
        Self { status: status.as_str().to_owned(), order_id: order, details, place, latitude, longitude, meta }
    }
}

crate::events! {
    /// The events about tracking statuses.
    pub const EVENTS {
        /// New tracking status recorded.
        CREATED = "tracking_status.created";
        /// Tracking status changed.
        UPDATED = "tracking_status.updated", |status| status.with("details", "The driver is on the way.");
    }
}

impl Resource for TrackingStatus {
    type Id = TrackingStatusId;
    type State = Fleet;

    const SINGULAR: &'static str = "tracking_status";
    const PLURAL: &'static str = "tracking_statuses";
    const AREA: Area = Area::Business;
}

impl PublishesEvents for TrackingStatus {
    const EVENTS: &'static [EventDoc] = EVENTS;

    fn events(change: &Change<'_, Self>) -> Vec<EventName> {
        match change {
            Change::Created(_) => vec![CREATED],
            Change::Updated(..) => vec![UPDATED],
            Change::Deleted(_) => Vec::new(),
        }
    }
}

impl Validated for TrackingStatus {
    /// A status of the order itself can be neither recorded nor changed manually.
    async fn validate(_: &mut RecordTransaction<Fleet>, before: Option<&Record<Self>>, status: &mut Self) -> Result<(), Problem> {
        let before = before.map(|before| &before.fields);
        if before.is_some_and(|before| before.order_id != status.order_id) {
            return Err(FieldErrors::one("order", "The order of a tracking status cannot change."));
        }
        let by_hand = before.is_none_or(|before| before.status != status.status);
        if by_hand && [Some(&status.status), before.map(|before| &before.status)].into_iter().flatten().any(|word| is_order_status(word)) {
            return Err(FieldErrors::one("status", "This status is recorded automatically when the order reaches it."));
        }
        location::check_pair(status.latitude, status.longitude)
    }
}
