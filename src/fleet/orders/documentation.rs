//! The documentation of the fields of orders. Two of them have schemas of their own.

use serde_json::json;

use crate::fleet::drivers::Driver;
use crate::fleet::orders::status::Status;
use crate::fleet::vehicles::Vehicle;
use crate::kernel::ids::CustomerId;
use crate::resources::{Described, Instant, Line, Link, Meta, Parsed, Reference, Text};

pub(super) fn members() -> Vec<Described> {
    let mut driver = Described::sent::<Option<Link<Driver>>>("driver", "The driver who carries the order.");
    driver.schema["writeOnly"] = true.into();
    vec![
        Described::sent::<Status>("status", "The status of the order."),
        driver,
        driver_assigned(),
        Described::shown::<Line<64>>("tracking_number", "The number that the recipient tracks the order with."),
        Described::sent::<Option<Line<100>>>("internal_id", "The shop's own id of the order."),
        Described::sent::<Option<Line<50>>>("type", "The type of the order, defined by the shop."),
        Described::sent::<Option<Reference<CustomerId>>>("customer", "The customer who placed the order."),
        Described::sent::<Option<Link<Vehicle>>>("vehicle", "The vehicle that carries the order."),
        payload(),
        Described::sent::<Option<Text<2000>>>("notes", "Notes for the driver."),
        Described::sent::<bool>("skip_dispatch", "Whether the order may start without having been dispatched."),
        Described::sent::<Option<Instant>>("scheduled_at", "The time at which the order should be carried."),
        Described::shown::<Option<Instant>>("dispatched_at", "When the order was dispatched to its driver."),
        Described::shown::<Option<Instant>>("started_at", "When the trip started."),
        Described::shown::<Option<Instant>>("completed_at", "When the order was delivered."),
        Described::shown::<Option<Instant>>("cancelled_at", "When the order was cancelled."),
        Described::shown::<Option<Instant>>("failed_at", "When the delivery failed."),
        Described::sent::<Meta>("meta", "Free-form data of the shop."),
    ]
}

fn driver_assigned() -> Described {
    let text = <Option<Line<255>>>::schema();
    let schema = json!({ "type": ["object", "null"], "properties": { "id": Link::<Driver>::schema(), "name": text, "phone": text } });
    Described { name: "driver_assigned".into(), sentence: "The driver who carries the order.".into(), schema, sent: true, needed: false }
}

fn payload() -> Described {
    let line = <Option<Line<500>>>::schema();
    let schema = json!({ "type": ["object", "null"], "properties": { "pickup": line, "dropoff": line } });
    Described { name: "payload".into(), sentence: "The pickup and the drop-off address.".into(), schema, sent: true, needed: false }
}
