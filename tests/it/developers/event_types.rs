//! The event catalogue: decisions, section 7, Catalogue. At the end of every story, all events of its world are checked against
//! their schemas.

use portico::app;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;

/// The events of interface 2, those that the decisions add, and those of the bundled extensions.
const NAMES: &str = "
    order.created order.dispatched order.started order.completed order.cancelled order.updated
    driver.assigned driver.location_changed driver.online driver.offline driver.updated
    tracking_status.created tracking_number.created proof_of_delivery.created
    vehicle.updated vehicle.assigned issue.created issue.updated issue.resolved
    order.driver_assigned order.failed order.deleted driver.created driver.deleted vehicle.created vehicle.deleted
    vehicle.location_changed issue.deleted tracking_status.updated tracking_number.updated fleet.created fleet.updated fleet.deleted
    customer.created customer.updated customer.closed customer.signed_in customer.locked_out customer.contact_changed
    customer.device_added texts.paused texts.resumed payment.succeeded payment.failed payment.pending refund.processed refund.failed
    setup.succeeded chargeback.created webhook.test webhook.failing webhook.disabled webhook.recovered
    warehouse.created warehouse.updated warehouse.deleted stock_item.created stock_item.updated stock_item.deleted stock_item.sold_out
    ticket.created ticket.updated ticket.deleted ticket.resolved";

#[tokio::test]
async fn every_event_type_is_listed_with_its_schema_and_a_sample_that_fits() {
    let world = World::new().await;
    let types = world.get("event-types").await["event_types"].take();
    let types = types.as_array().unwrap();
    for name in NAMES.split_whitespace() {
        let event_type = types.iter().find(|event_type| event_type["name"] == name).unwrap_or_else(|| panic!("{name} is listed"));
        assert_eq!(event_type["group"], name.split('.').next().unwrap());
        assert!(!event_type["description"].as_str().unwrap().is_empty());
        assert_eq!(event_type["sample"]["event"], name);
        let schema = jsonschema::draft202012::new(&event_type["schema"]).unwrap();
        assert!(schema.is_valid(&event_type["sample"]), "{name}");
        assert!(!schema.is_valid(&json!({})), "{name}");
        let found = world.get(&format!("event-types/{name}")).await;
        assert_eq!(&found["event_type"], event_type);
    }
    assert_eq!(types.len(), NAMES.split_whitespace().count());
}

#[tokio::test]
async fn the_list_is_narrowed_by_extension_group_and_words_and_comes_in_pages() {
    let world = World::new().await;
    let names = async |query: &str| -> (Vec<String>, Value) {
        let mut list = world.get(&format!("event-types{query}")).await;
        let name = |event_type: &Value| event_type["name"].as_str().unwrap().to_owned();
        (list["event_types"].as_array().unwrap().iter().map(name).collect(), list["meta"].take())
    };
    let (all, meta) = names("").await;
    assert_eq!(meta, json!({ "per_page": null, "next": null }));
    let of =
        |groups: &[&str]| -> Vec<String> { all.iter().filter(|name| groups.contains(&name.split('.').next().unwrap())).cloned().collect() };
    assert_eq!(names("?namespace=inventory").await.0, of(&["warehouse", "stock_item"]));
    assert_eq!(names("?namespace=ledger").await.0, of(&["payment", "refund", "setup", "chargeback"]));
    assert_eq!(names("?group=order&namespace=fleet").await.0, of(&["order"]));
    assert!(names("?group=order&namespace=ledger").await.0.is_empty());
    assert_eq!(names("?query=Location").await.0, ["driver.location_changed", "vehicle.location_changed"]);

    let (mut read, mut query) = (Vec::new(), "?limit=20".to_owned());
    loop {
        let (page, meta) = names(&query).await;
        assert!(page.len() <= 20 && meta["per_page"] == 20);
        read.extend(page);
        let Some(next) = meta["next"].as_str() else { break };
        query = format!("?limit=20&after={next}");
    }
    assert_eq!(read, all);
}

#[tokio::test]
async fn what_the_list_cannot_be_asked_is_refused() {
    let world = World::new().await;
    for query in [
        "nmaespace=fleet",
        "sort=created_at",
        "namespace=parcels",
        "namespace=",
        "group=parcel",
        "limit=0",
        "limit=101",
        "limit=ten",
        "limit=5&limit=5",
        "after=order.made",
        "after=order.created&group=driver",
    ] {
        world.developers(Method::GET, &format!("event-types?{query}"), Value::Null).await.refused(422, "parameter_invalid");
    }
}

#[tokio::test]
async fn an_event_type_nobody_knows_is_not_found() {
    let world = World::new().await;
    for name in ["order.made", "order", "*", "order.*", "%00"] {
        world.developers(Method::GET, &format!("event-types/{name}"), Value::Null).await.refused(404, "record_not_found");
    }
}

#[test]
fn every_sample_has_the_form_that_its_schema_describes_and_the_members_that_every_event_has() {
    for event_type in app::catalogue().iter() {
        let data = Value::Object(event_type.sample.clone());
        event_type.check(&data).unwrap_or_else(|unfit| panic!("{}: {unfit}", event_type.name));
        for member in ["id", "public_id", "uuid", "meta", "additionalData"] {
            assert!(data.get(member).is_some(), "{} has no {member}", event_type.name);
        }
        assert_eq!(data["id"], data["public_id"], "{}", event_type.name);
        let undocumented = event_type.sample.keys().find(|member| event_type.data_schema["properties"].get(member.as_str()).is_none());
        assert_eq!(undocumented, None, "{}", event_type.name);
        assert!(event_type.meaning.ends_with('.'));
    }
}

#[test]
fn every_schema_stands_alone_and_describes_its_sample_as_it_is_sent() {
    for event_type in app::catalogue().iter() {
        let schema = event_type.schema();
        assert!(!schema.to_string().contains("$ref"), "{}", event_type.name);
        assert!(jsonschema::meta::is_valid(&schema), "{}", event_type.name);
        assert!(jsonschema::draft202012::new(&schema).unwrap().is_valid(&event_type.sample_body()), "{}", event_type.name);
    }
}

#[test]
fn an_event_narrows_what_its_group_allows() {
    let catalogue = app::catalogue();
    let dispatched = catalogue.find("order.dispatched").unwrap();
    let mut data = Value::Object(dispatched.sample.clone());
    data["status"] = json!("created");
    assert_eq!(dispatched.check(&data).unwrap_err().to_string(), "status: \"dispatched\" was expected");
    catalogue.find("order.updated").unwrap().check(&data).unwrap();
    data.as_object_mut().unwrap().remove("notes");
    assert!(catalogue.find("order.updated").unwrap().check(&data).unwrap_err().to_string().contains("\"notes\""));
}
