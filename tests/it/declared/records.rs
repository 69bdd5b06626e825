//! The two extensions that ship, through their five routes.

use chrono::TimeDelta;
use portico::companies::Scope;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::fleet::id;
use crate::support::people::EMAIL;
use crate::support::request::Request;

const SHIPPED: &[(&str, &str)] = &[("extensions.directory", "config/extensions")];

/// A world with the extensions that ship.
async fn world() -> World {
    let world = World::with(SHIPPED).await;
    world.state.declared.prepare().await.unwrap();
    world
}

fn ask(world: &World, method: Method, path: &str) -> Request {
    world.api(method, &format!("/{path}"))
}

async fn warehouse(world: &World, code: &str) -> Value {
    let body = json!({ "name": "Harbour", "code": code });
    ask(world, Method::POST, "inventory/int/v1/warehouses").json(&body).send().await.ok(201)["warehouse"].take()
}

#[tokio::test]
async fn a_declared_record_lives_through_its_five_routes_and_its_events() {
    let world = world().await;
    let warehouse = warehouse(&world, "HAM-1").await;
    assert!(id(&warehouse).starts_with("record_"));
    assert_eq!((&warehouse["active"], &warehouse["meta"], &warehouse["created_at"]), (&json!(true), &json!({}), &json!("2026-05-21T10:15:00.000+00:00")));

    let body = json!({ "stock_item": { "sku": "MUG", "warehouse": warehouse["uuid"], "quantity": 3, "meta": { "row": 7 } } });
    let create = ask(&world, Method::POST, "inventory/int/v1/stock-items").json(&body).send();
    let (created, events) = world.published(create).await;
    assert_eq!(created.header("etag"), Some("\"1\""));
    let item = created.ok(201)["stock_item"].take();
    assert_eq!((&item["warehouse"], &item["state"], &item["meta"]), (&warehouse["id"], &json!("in_stock"), &json!({ "row": 7 })));
    assert_eq!(events.iter().map(|event| event.name.as_str()).collect::<Vec<_>>(), ["stock_item.created"]);
    assert_eq!((&events[0].data["id"], &events[0].data["quantity"]), (&item["id"], &json!(3)));

    let path = format!("inventory/int/v1/stock-items/{}", id(&item));
    let sell = ask(&world, Method::PUT, &path).header("if-match", "\"1\"").json(&json!({ "quantity": 0, "state": "sold_out" })).send();
    let (sold, events) = world.published(sell).await;
    assert_eq!(sold.header("etag"), Some("\"2\""));
    let sold = sold.ok(200)["stock_item"].take();
    assert_eq!((&sold["sku"], &sold["quantity"]), (&json!("MUG"), &json!(0)), "only what was sent changes");
    assert_eq!(events.iter().map(|event| event.name.as_str()).collect::<Vec<_>>(), ["stock_item.sold_out", "stock_item.updated"]);
    let again = ask(&world, Method::PUT, &path).json(&json!({ "state": "sold_out" })).send();
    assert_eq!(world.published_names(again).await, [""; 0], "what ends unchanged tells nobody");
    ask(&world, Method::PUT, &path).header("if-match", "\"1\"").json(&json!({ "quantity": 1 })).send().await.refused(412, "record_changed");

    assert_eq!(ask(&world, Method::GET, &path).send().await.ok(200)["stock_item"], sold);
    let list = ask(&world, Method::GET, "inventory/int/v1/stock-items").send().await.ok(200);
    assert_eq!(list, json!({ "stock_items": [sold], "meta": { "per_page": 25, "next": null } }));
    assert_eq!(world.published_names(ask(&world, Method::DELETE, &path).send()).await, ["stock_item.deleted"]);
    ask(&world, Method::GET, &path).send().await.refused(404, "record_not_found");
    // Of one table, each kind finds its own.
    ask(&world, Method::GET, &format!("inventory/int/v1/stock-items/{}", id(&warehouse))).send().await.refused(404, "record_not_found");
    ask(&world, Method::DELETE, &format!("support/int/v1/tickets/{}", id(&warehouse))).send().await.refused(404, "record_not_found");
}

#[tokio::test]
async fn bodies_are_what_the_schema_says_and_refusals_name_the_member() {
    let world = world().await;
    for (body, field) in [
        (json!({}), "name"),
        (json!({ "name": "x" }), "code"),
        (json!({ "name": "x", "code": "ham" }), "code"),
        (json!({ "name": 5, "code": "HAM" }), "name"),
        (json!({ "name": "x", "code": "HAM", "colour": "blue" }), "colour"),
        (json!({ "name": "x", "code": "HAM", "meta": [] }), "meta"),
        (json!({ "name": "x", "code": "HAM", "id": "record_1" }), "id"),
    ] {
        let refused = ask(&world, Method::POST, "inventory/int/v1/warehouses").json(&body).send().await.refused(422, "body_invalid");
        assert!(refused["fields"].get(field).is_some(), "{field}: {refused}");
    }
    ask(&world, Method::POST, "inventory/int/v1/warehouses").body("[]").send().await.refused(422, "body_invalid");
    let warehouse = warehouse(&world, "HAM").await;
    let path = format!("inventory/int/v1/warehouses/{}", id(&warehouse));
    ask(&world, Method::PUT, &path).json(&json!({ "name": null })).send().await.refused(422, "body_invalid");
    let cleared = ask(&world, Method::PUT, &path).json(&json!({ "address": null })).send().await.ok(200);
    assert_eq!(cleared["warehouse"]["address"], json!(null));
}

#[tokio::test]
async fn references_lead_to_live_records_of_the_same_company() {
    let world = world().await;
    let (_, other) = world.another_company(&[Scope::Admin]).await;
    let foreign = world.request(Method::POST, "/inventory/int/v1/warehouses").key(&other).json(&json!({ "name": "x", "code": "X" })).send().await;
    let foreign = foreign.ok(201)["warehouse"].take();
    let own = warehouse(&world, "HAM").await;
    let item = |warehouse: &Value| json!({ "sku": "MUG", "quantity": 1, "warehouse": warehouse });
    let create = |body: Value| ask(&world, Method::POST, "inventory/int/v1/stock-items").json(&body).send();
    for wrong in [&foreign["id"], &json!("record_01h455vb4pex5vsknk084sn02q"), &json!("order_01h455vb4pex5vsknk084sn02q"), &json!("x")] {
        assert!(create(item(wrong)).await.refused(422, "body_invalid")["fields"].get("warehouse").is_some());
    }
    let made = create(item(&own["id"])).await.ok(201)["stock_item"].take();
    ask(&world, Method::DELETE, &format!("inventory/int/v1/warehouses/{}", id(&own))).send().await.ok(200);
    create(item(&own["id"])).await.refused(422, "body_invalid");
    // What named it before goes on naming it.
    let path = format!("inventory/int/v1/stock-items/{}", id(&made));
    ask(&world, Method::PUT, &path).json(&json!({ "quantity": 2 })).send().await.ok(200);

    let order = world.order(json!({})).await;
    let customer = world.register(EMAIL).await["customer"]["id"].clone();
    let ticket = json!({ "subject": "Where is it?", "order": order["uuid"], "customer": customer });
    let ticket = ask(&world, Method::POST, "support/int/v1/tickets").json(&ticket).send().await.ok(201)["ticket"].take();
    assert_eq!((&ticket["order"], &ticket["customer"], &ticket["priority"]), (&order["id"], &customer, &json!(3)));
    let of_the_order = ask(&world, Method::GET, &format!("support/int/v1/tickets?order={}", id(&order))).send().await.ok(200);
    assert_eq!(of_the_order["tickets"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn lists_are_narrowed_searched_and_paged_like_every_other() {
    let world = world().await;
    let own = warehouse(&world, "HAM").await;
    for number in 0..5 {
        world.pass(TimeDelta::seconds(1));
        let body = json!({ "sku": format!("MUG-{number}"), "title": "50% off", "quantity": number, "warehouse": own["id"], "state": if number == 0 { "sold_out" } else { "in_stock" } });
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
    assert_eq!(skus(&format!("warehouse={}&sort=created_at&limit=1", id(&own))).await, ["MUG-0"]);
    let page = ask(&world, Method::GET, "inventory/int/v1/stock-items?limit=3").send().await.ok(200);
    let next = page["meta"]["next"].as_str().unwrap();
    assert_eq!(skus(&format!("after={next}")).await, ["MUG-1", "MUG-0"]);
    for bad in ["quantity=3", "colour=blue", "limit=0"] {
        ask(&world, Method::GET, &format!("inventory/int/v1/stock-items?{bad}")).send().await.refused(422, "parameter_invalid");
    }
    let busy = ask(&world, Method::GET, "support/int/v1/tickets?priority=much").send().await.refused(422, "parameter_invalid");
    assert_eq!(busy["parameter"], "priority");
    assert_eq!(ask(&world, Method::GET, "inventory/int/v1/warehouses?active=true").send().await.ok(200)["warehouses"].as_array().unwrap().len(), 1);
    assert_eq!(ask(&world, Method::GET, "inventory/int/v1/warehouses?active=false").send().await.ok(200)["warehouses"], json!([]));
}

#[tokio::test]
async fn they_ask_for_a_key_its_scope_and_its_company() {
    let world = world().await;
    let own = warehouse(&world, "HAM").await;
    let one = format!("/inventory/int/v1/warehouses/{}", id(&own));
    let reader = world.key_of(world.company, &[Scope::Read]).await;
    let gateway = world.key_of(world.company, &[Scope::Callbacks, Scope::Events]).await;
    let (_, other) = world.another_company(&[Scope::Admin]).await;
    for (method, path) in [
        (Method::GET, "/inventory/int/v1/warehouses"),
        (Method::POST, "/inventory/int/v1/warehouses"),
        (Method::GET, &one),
        (Method::PUT, &one),
        (Method::DELETE, &one),
    ] {
        let request = || world.request(method.clone(), path).header("content-type", "application/json").body("{}");
        request().send().await.refused(401, "api_key_invalid");
        request().key(&gateway).send().await.refused(403, "scope_missing");
        if method != Method::GET {
            request().key(&reader).send().await.refused(403, "scope_missing");
        }
        if path == one {
            request().key(&other).send().await.refused(404, "record_not_found");
        }
    }
}

#[tokio::test]
async fn their_events_stand_in_the_catalogue_and_can_be_subscribed_to() {
    let world = world().await;
    let types = world.get("event-types").await["event_types"].take();
    for name in ["warehouse.created", "stock_item.updated", "stock_item.sold_out", "ticket.deleted", "ticket.resolved"] {
        let found = types.as_array().unwrap().iter().find(|event_type| event_type["name"] == name).unwrap_or_else(|| panic!("{name}"));
        assert!(jsonschema::draft202012::new(&found["schema"]).unwrap().is_valid(&found["sample"]), "{name}");
    }
    let receiver = world.endpoint("shop.test").await;
    world.subscribe(&receiver, json!({ "events": ["warehouse.*"] })).await;
    warehouse(&world, "HAM").await;
    world.deliver().await;
    assert_eq!(receiver.only().header("x-service-event"), "warehouse.created");
}
