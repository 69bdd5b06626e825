//! The two bundled extensions, through their five routes.

use chrono::TimeDelta;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use reqwest::Method;
use serde_json::{Value, json};

use crate::declared::garden;
use crate::storefront::generated_bodies::any_value;
use crate::support::World;
use crate::support::chance::chance;
use crate::support::fleet::{id, names};
use crate::support::request::Request;

pub fn ask(world: &World, method: Method, path: &str) -> Request {
    world.api(method, &format!("/{path}"))
}

pub async fn warehouse(world: &World, code: &str) -> Value {
    let body = json!({ "name": "Harbour", "code": code });
    ask(world, Method::POST, "inventory/int/v1/warehouses").json(&body).send().await.ok(201)["warehouse"].take()
}

#[tokio::test]
async fn a_declared_record_lives_through_its_five_routes_and_its_events() {
    let world = World::new().await;
    let warehouse = warehouse(&world, "HAM-1").await;
    assert!(id(&warehouse).starts_with("record_"));
    assert_eq!((&warehouse["active"], &warehouse["meta"]), (&json!(true), &json!({})));
    assert_eq!(warehouse["created_at"], "2026-05-21T10:15:00.000+00:00");

    let body = json!({ "stock_item": { "sku": "MUG", "warehouse": warehouse["uuid"], "quantity": 3, "meta": { "row": 7 } } });
    let create = ask(&world, Method::POST, "inventory/int/v1/stock-items").json(&body).send();
    let (created, events) = world.published(create).await;
    assert_eq!(created.header("etag"), Some("\"1\""));
    let item = created.ok(201)["stock_item"].take();
    assert_eq!((&item["warehouse"], &item["state"], &item["meta"]), (&warehouse["id"], &json!("in_stock"), &json!({ "row": 7 })));
    assert_eq!(names(&events), ["stock_item.created"]);
    assert_eq!((&events[0].data["id"], &events[0].data["quantity"]), (&item["id"], &json!(3)));

    let path = format!("inventory/int/v1/stock-items/{}", id(&item));
    let sell = ask(&world, Method::PUT, &path).header("if-match", "\"1\"").json(&json!({ "quantity": 0, "state": "sold_out" })).send();
    let (sold, events) = world.published(sell).await;
    assert_eq!(sold.header("etag"), Some("\"2\""));
    let sold = sold.ok(200)["stock_item"].take();
    assert_eq!((&sold["sku"], &sold["quantity"]), (&json!("MUG"), &json!(0)), "only the sent fields change");
    assert_eq!(names(&events), ["stock_item.sold_out", "stock_item.updated"]);
    let again = ask(&world, Method::PUT, &path).json(&json!({ "state": "sold_out" })).send();
    assert_eq!(world.published_names(again).await, [""; 0], "an update without a change publishes nothing");
    ask(&world, Method::PUT, &path).header("if-match", "\"1\"").json(&json!({ "quantity": 1 })).send().await.refused(412, "record_changed");

    assert_eq!(ask(&world, Method::GET, &path).send().await.ok(200)["stock_item"], sold);
    let list = ask(&world, Method::GET, "inventory/int/v1/stock-items").send().await.ok(200);
    assert_eq!(list, json!({ "stock_items": [sold], "meta": { "per_page": 25, "next": null } }));
    assert_eq!(world.published_names(ask(&world, Method::DELETE, &path).send()).await, ["stock_item.deleted"]);
    ask(&world, Method::GET, &path).send().await.refused(404, "record_not_found");
    // Both kinds share one table, but each finds only its own records.
    ask(&world, Method::GET, &format!("inventory/int/v1/stock-items/{}", id(&warehouse))).send().await.refused(404, "record_not_found");
    ask(&world, Method::DELETE, &format!("support/int/v1/tickets/{}", id(&warehouse))).send().await.refused(404, "record_not_found");
}

#[tokio::test]
async fn a_value_publishes_its_event_from_the_creation_on_and_each_event_once() {
    let directory = garden(
        r#"
        namespace = "garden"
        [resources.pots]
        singular = "pot"
        version = 1
        description = "A pot."
        becomes = { state = { broken = "pot.broken" }, glaze = { cracked = "pot.broken" } }
        [resources.pots.schema]
        type = "object"
        properties = { state = { type = "string" }, glaze = { type = "string" } }
        [resources.pots.sample]
        "#,
    );
    let world = World::with(&[("extensions.directory", directory.path().to_str().unwrap())]).await;
    world.state.declared.take_schemas().await.unwrap();
    let pots = |method: Method, rest: &str, body: Value| ask(&world, method, &format!("garden/int/v1/pots{rest}")).json(&body).send();
    let both = json!({ "state": "broken", "glaze": "cracked" });
    assert_eq!(world.published_names(pots(Method::POST, "", both.clone())).await, ["pot.broken", "pot.created"]);
    let (made, events) = world.published(pots(Method::POST, "", json!({ "state": "whole" }))).await;
    assert_eq!(names(&events), ["pot.created"]);
    let one = format!("/{}", id(&made.ok(201)["pot"]));
    assert_eq!(world.published_names(pots(Method::PUT, &one, both)).await, ["pot.broken", "pot.updated"]);
    assert_eq!(world.published_names(pots(Method::DELETE, &one, json!({}))).await, ["pot.deleted"]);
}

#[tokio::test]
async fn bodies_are_what_the_schema_says_and_refusals_name_the_member() {
    let world = World::new().await;
    let create = |body: &Value| ask(&world, Method::POST, "inventory/int/v1/warehouses").json(body).send();
    for (body, field, sentence) in [
        (json!({}), "name", "name is required."),
        (json!({ "name": "x" }), "code", "code is required."),
        (json!({ "name": "x", "code": "ham" }), "code", "code does not match \"^[A-Z0-9-]+$\"."),
        (json!({ "name": 5, "code": "HAM" }), "name", "name is not of type \"string\"."),
        (json!({ "name": "x", "code": "HAM", "colour": "blue" }), "colour", "colour is not a known field."),
        (json!({ "name": "x", "code": "HAM", "meta": [] }), "meta", "meta is not of type \"object\"."),
        (json!({ "name": "x", "code": "HAM", "id": "record_1" }), "id", "id is not a known field."),
        (json!({ "name": "x", "code": "HAM", "kind": "support/tickets" }), "kind", "kind is not a known field."),
    ] {
        let refused = create(&body).await.refused(422, "body_invalid");
        assert_eq!(refused["fields"][field], json!([sentence]), "{refused}");
    }
    let twice = ask(&world, Method::POST, "inventory/int/v1/warehouses").body(r#"{"name":"x","code":"A","code":"B"}"#);
    twice.send().await.refused(422, "body_invalid");
    let warehouse = warehouse(&world, "HAM").await;
    let change = |body: Value| ask(&world, Method::PUT, &format!("inventory/int/v1/warehouses/{}", id(&warehouse))).json(&body).send();
    change(json!({ "name": null })).await.refused(422, "body_invalid");
    assert_eq!(change(json!({ "address": null })).await.ok(200)["warehouse"]["address"], json!(null));
}

/// A body with some of the known fields, a few of them valid.
fn any_stock_item(warehouse: Value) -> impl Strategy<Value = Value> {
    let member = prop_oneof![
        Just(("sku".to_owned(), json!("MUG"))),
        Just(("quantity".to_owned(), json!(3))),
        Just(("warehouse".to_owned(), warehouse)),
        Just(("state".to_owned(), json!("low"))),
        (prop::sample::select(vec!["sku", "title", "warehouse", "quantity", "state", "meta", "colour"]), any_value())
            .prop_map(|(name, value)| (name.to_owned(), value)),
    ];
    prop::collection::vec(member, 0..7).prop_map(|members| Value::Object(members.into_iter().collect()))
}

#[tokio::test]
async fn of_generated_bodies_what_is_refused_leaves_nothing_and_what_is_taken_fits() {
    let world = World::new().await;
    let warehouse = warehouse(&world, "HAM").await;
    let first = json!({ "sku": "MUG", "quantity": 1, "warehouse": warehouse["id"] });
    let first = ask(&world, Method::POST, "inventory/int/v1/stock-items").json(&first).send().await.ok(201)["stock_item"].take();
    let one = format!("inventory/int/v1/stock-items/{}", id(&first));
    let kept = async || -> String {
        let sql = "select concat_ws(' ', (select md5(string_agg(declared_records::text, ' ' order by id)) from declared_records),
                          (select count(*) from events), (select count(*) from outbox))";
        sqlx::query_scalar(sql).fetch_one(&world.pool).await.unwrap()
    };
    let (mut runner, bodies) = (chance(), any_stock_item(warehouse["id"].clone()));
    let (mut before, mut taken, mut refused) = (kept().await, 0, 0);
    for (method, path) in [(Method::POST, "inventory/int/v1/stock-items"), (Method::PUT, &*one)] {
        for _ in 0..150 {
            let body = bodies.new_tree(&mut runner).unwrap().current();
            // The check at the end of the story verifies that the events of accepted bodies match the schema.
            let answer = ask(&world, method.clone(), path).json(&body).send().await;
            let after = kept().await;
            match answer.status {
                200 | 201 => taken += 1,
                400 | 413 | 422 => {
                    refused += 1;
                    assert_eq!(after, before, "{method} {body}: {:?}", answer.body);
                }
                _ => panic!("{method} {body}: {answer:?}"),
            }
            before = after;
        }
    }
    assert!(taken > 20 && refused > 100, "{taken} accepted, {refused} refused");
}

#[tokio::test]
async fn lists_are_narrowed_searched_and_paged_like_every_other() {
    let world = World::new().await;
    let own = warehouse(&world, "HAM").await;
    for number in 0..5 {
        world.pass(TimeDelta::seconds(1));
        let state = if number == 0 { "sold_out" } else { "in_stock" };
        let sku = format!("MUG-{number}");
        let body = json!({ "sku": sku, "title": "50% off", "quantity": number, "warehouse": own["id"], "state": state });
        ask(&world, Method::POST, "inventory/int/v1/stock-items").json(&body).send().await.ok(201);
    }
    let skus = async |query: &str| -> Vec<String> {
        let list = ask(&world, Method::GET, &format!("inventory/int/v1/stock-items?{query}")).send().await.ok(200);
        list["stock_items"].as_array().unwrap().iter().map(|item| item["sku"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(skus("sku=MUG-3").await, ["MUG-3"]);
    assert_eq!(skus("state=sold_out").await, ["MUG-0"]);
    assert_eq!(skus("query=g-4").await, ["MUG-4"]);
    assert_eq!(skus("query=50%25&limit=2").await, ["MUG-4", "MUG-3"]);
    for form in ["id", "uuid"] {
        assert_eq!(skus(&format!("warehouse={}&sort=created_at&limit=1", own[form].as_str().unwrap())).await, ["MUG-0"]);
    }
    let page = ask(&world, Method::GET, "inventory/int/v1/stock-items?limit=3").send().await.ok(200);
    let next = page["meta"]["next"].as_str().unwrap();
    assert_eq!(skus(&format!("after={next}")).await, ["MUG-1", "MUG-0"]);
    for bad in ["quantity=3", "colour=blue", "limit=0", "warehouse=HAM", "warehouse=order_01h455vb4pex5vsknk084sn02q", "sku=", "state=lost"]
    {
        ask(&world, Method::GET, &format!("inventory/int/v1/stock-items?{bad}")).send().await.refused(422, "parameter_invalid");
    }
    let count = async |path: &str, plural: &str| ask(&world, Method::GET, path).send().await.ok(200)[plural].as_array().unwrap().len();
    assert_eq!(count("inventory/int/v1/warehouses?active=true", "warehouses").await, 1);
    assert_eq!(count("inventory/int/v1/warehouses?active=false", "warehouses").await, 0);
    ask(&world, Method::POST, "support/int/v1/tickets").json(&json!({ "subject": "Now!", "priority": 1 })).send().await.ok(201);
    assert_eq!(count("support/int/v1/tickets?priority=1", "tickets").await, 1);
    assert_eq!(count("support/int/v1/tickets?priority=2&created_after=2026-01-01T00:00:00Z", "tickets").await, 0);
    // The schema of the field says which numbers there are.
    for bad in ["much", "1.5", "0", "6"] {
        let path = format!("support/int/v1/tickets?priority={bad}");
        let refused = ask(&world, Method::GET, &path).send().await.refused(422, "parameter_invalid");
        assert_eq!(refused["parameter"], "priority", "{bad}");
    }
}

#[tokio::test]
async fn their_events_stand_in_the_catalogue_are_subscribed_to_and_delivered() {
    let world = World::new().await;
    let types = world.get("event-types").await["event_types"].take();
    for name in ["warehouse.created", "stock_item.updated", "stock_item.sold_out", "ticket.deleted", "ticket.resolved"] {
        let found = types.as_array().unwrap().iter().find(|event_type| event_type["name"] == name).unwrap_or_else(|| panic!("{name}"));
        assert!(jsonschema::draft202012::new(&found["schema"]).unwrap().is_valid(&found["sample"]), "{name}");
    }
    let receiver = world.endpoint("shop.test").await;
    world.subscribe(&receiver, json!({ "events": ["warehouse.*", "stock_item.sold_out"] })).await;
    let warehouse = warehouse(&world, "HAM").await;
    world.deliver().await;
    let delivered = receiver.only();
    assert_eq!(delivered.header("x-service-event"), "warehouse.created");
    let body: Value = serde_json::from_slice(&delivered.body).unwrap();
    assert_eq!((&body["data"]["id"], &body["data"]["code"]), (&warehouse["id"], &json!("HAM")));
    let unknown = json!({ "url": receiver.url(), "events": ["warehouse.moved"] });
    world.developers(Method::POST, "webhooks", unknown).await.refused(422, "body_invalid");
}
