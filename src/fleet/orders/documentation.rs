//! The documentation of the fields of orders. Two of them have schemas of their own.

use serde_json::json;

use crate::fleet::drivers::Driver;
use crate::fleet::orders::status::Status;
use crate::fleet::vehicles::Vehicle;
use crate::kernel::ids::CustomerId;
use crate::resources::{Described, Instant, Line, Link, Meta, Parsed, Reference, Text};

pub(super) fn members() -> Vec<Described> {
    let mut driver = Described::sent::<Option<Link<Driver>>>("driver", "Who shall carry it.");
    driver.schema["writeOnly"] = true.into();
    vec![
        Described::sent::<Status>("status", "How far it has come."),
        driver,
        driver_assigned(),
        Described::shown::<Line<64>>("tracking_number", "What its recipient follows it by."),
        Described::sent::<Option<Line<100>>>("internal_id", "The shop's own name for it."),
        Described::sent::<Option<Line<50>>>("type", "What the shop calls this kind of order."),
        Described::sent::<Option<Reference<CustomerId>>>("customer", "Who ordered."),
        Described::sent::<Option<Link<Vehicle>>>("vehicle", "What it is carried in."),
        payload(),
        Described::sent::<Option<Text<2000>>>("notes", "What its driver should know."),
        Described::sent::<bool>("skip_dispatch", "It may start without having been dispatched."),
        Described::sent::<Option<Instant>>("scheduled_at", "When it should be carried."),
        Described::shown::<Option<Instant>>("dispatched_at", "When it was given to its driver."),
        Described::shown::<Option<Instant>>("started_at", "When the journey began."),
        Described::shown::<Option<Instant>>("completed_at", "When it was delivered."),
        Described::shown::<Option<Instant>>("cancelled_at", "When it was called off."),
        Described::shown::<Option<Instant>>("failed_at", "When delivering it failed."),
        Described::sent::<Meta>("meta", "What the shop keeps with it."),
    ]
}

fn driver_assigned() -> Described {
    let text = <Option<Line<255>>>::schema();
    let schema = json!({ "type": ["object", "null"], "properties": { "id": Link::<Driver>::schema(), "name": text, "phone": text } });
    Described { name: "driver_assigned".into(), sentence: "Who carries it.".into(), schema, sent: true, needed: false }
}

fn payload() -> Described {
    let line = <Option<Line<500>>>::schema();
    let schema = json!({ "type": ["object", "null"], "properties": { "pickup": line, "dropoff": line } });
    Described {
        name: "payload".into(),
        sentence: "Where it is fetched, and where it is brought.".into(),
        schema,
        sent: true,
        needed: false,
    }
}
