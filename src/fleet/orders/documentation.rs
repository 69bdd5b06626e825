//! The documentation of the fields of orders. Two of them have schemas of their own.

use serde_json::json;

use crate::fleet::drivers::Driver;
use crate::fleet::orders::status::Status;
use crate::fleet::vehicles::Vehicle;
use crate::kernel::ids::CustomerId;
use crate::resources::{FieldDoc, FieldType, Instant, Line, Link, Meta, Reference, Text};

pub(super) fn members() -> Vec<FieldDoc> {
    let mut driver = FieldDoc::writable::<Option<Link<Driver>>>("driver", "The driver who carries the order.");
    driver.schema["writeOnly"] = true.into();
    vec![
        FieldDoc::writable::<Status>("status", "The status of the order."),
        driver,
        driver_assigned(),
        FieldDoc::read_only::<Line<64>>("tracking_number", "The number that the recipient tracks the order with."),
        FieldDoc::writable::<Option<Line<100>>>("internal_id", "The shop's own id of the order."),
        FieldDoc::writable::<Option<Line<50>>>("type", "The type of the order, defined by the shop."),
        FieldDoc::writable::<Option<Reference<CustomerId>>>("customer", "The customer who placed the order."),
        FieldDoc::writable::<Option<Link<Vehicle>>>("vehicle", "The vehicle that carries the order."),
        payload(),
        FieldDoc::writable::<Option<Text<2000>>>("notes", "Notes for the driver."),
        FieldDoc::writable::<bool>("skip_dispatch", "Whether the order may start without having been dispatched."),
        FieldDoc::writable::<Option<Instant>>("scheduled_at", "The time at which the order should be carried."),
        FieldDoc::read_only::<Option<Instant>>("dispatched_at", "When the order was dispatched to its driver."),
        FieldDoc::read_only::<Option<Instant>>("started_at", "When the trip started."),
        FieldDoc::read_only::<Option<Instant>>("completed_at", "When the order was delivered."),
        FieldDoc::read_only::<Option<Instant>>("cancelled_at", "When the order was cancelled."),
        FieldDoc::read_only::<Option<Instant>>("failed_at", "When the delivery failed."),
        FieldDoc::writable::<Meta>("meta", "Free-form data of the shop."),
    ]
}

fn driver_assigned() -> FieldDoc {
    let text = <Option<Line<255>>>::schema();
    let schema = json!({ "type": ["object", "null"], "properties": { "id": Link::<Driver>::schema(), "name": text, "phone": text } });
    FieldDoc {
        name: "driver_assigned".into(),
        sentence: "The driver who carries the order.".into(),
        schema,
        writable: true,
        required: false,
    }
}

fn payload() -> FieldDoc {
    let line = <Option<Line<500>>>::schema();
    let schema = json!({ "type": ["object", "null"], "properties": { "pickup": line, "dropoff": line } });
    FieldDoc { name: "payload".into(), sentence: "The pickup and the drop-off address.".into(), schema, writable: true, required: false }
}
