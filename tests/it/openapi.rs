//! `GET /openapi.json`: the extension routes, as their code tells of them.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::{Value, json};

use crate::api_keys::all_routes;
use crate::support::World;
use crate::support::fleet::id;

async fn document(world: &World) -> Value {
    world.request(Method::GET, "/openapi.json").send().await.ok(200)
}

/// The routes the document tells of, as `GET /fleet/int/v1/orders/{uuid}`.
fn told(document: &Value) -> BTreeSet<String> {
    let paths = document["paths"].as_object().unwrap().iter();
    let routes =
        paths.flat_map(|(path, item)| item.as_object().unwrap().keys().map(move |method| format!("{} {path}", method.to_uppercase())));
    routes.collect()
}

#[tokio::test]
async fn the_document_tells_of_the_routes_that_are_served_and_of_no_others() {
    let world = World::new().await;
    // The table of `api_keys.rs` holds every route: its own story tells that each is served and that none is forgotten.
    let served: BTreeSet<_> = all_routes("{uuid}").into_iter().map(|(method, path)| format!("{method} {path}")).collect();
    assert_eq!(told(&document(&world).await), served);
}

#[tokio::test]
async fn every_reference_leads_somewhere_and_every_operation_has_its_refusals() {
    let world = World::new().await;
    let document = document(&world).await;
    assert_eq!(document["openapi"], "3.1.0");
    let text = document.to_string();
    for reference in text.split("\"$ref\":\"#").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        assert!(document.pointer(reference).is_some(), "{reference}");
    }
    let mut names = BTreeSet::new();
    for operation in document["paths"].as_object().unwrap().values().flat_map(|item| item.as_object().unwrap().values()) {
        assert!(operation["summary"].as_str().unwrap().ends_with('.'), "{operation}");
        assert!(operation["responses"]["401"].is_object() && operation["responses"]["403"].is_object(), "{operation}");
        assert!(operation["operationId"].as_str().is_none_or(|name| names.insert(name.to_owned())), "{operation}");
    }
}

#[tokio::test]
async fn what_is_told_of_a_record_is_what_is_shown_of_it() {
    let world = World::new().await;
    let document = document(&world).await;
    let order = world.order(json!({})).await;
    let proof = json!({ "order": id(&order), "data": "M0 0L9 9" });
    let warehouse = json!({ "name": "Harbour", "code": "HAM-1", "address": "1 Quay Street", "active": true });
    let made = world.api(Method::POST, "/inventory/int/v1/warehouses").json(&warehouse).send().await.ok(201);
    let item = json!({ "sku": "MUG", "title": null, "warehouse": id(&made["warehouse"]), "quantity": 3, "state": "low" });
    let ticket = json!({ "subject": "Hm", "text": "Hm?", "status": "open", "priority": 1, "order": id(&order), "customer": null });
    for (name, plural, body) in [
        ("fleet.order", "orders", json!({})),
        ("fleet.driver", "drivers", json!({ "name": "Ada" })),
        ("fleet.vehicle", "vehicles", json!({ "name": "Van" })),
        ("fleet.fleet", "fleets", json!({ "name": "North" })),
        ("fleet.issue", "issues", json!({ "report": "Flat tyre" })),
        ("fleet.proof", "proofs", proof),
        ("fleet.tracking_status", "tracking-statuses", json!({ "order": id(&order), "status": "at_the_depot" })),
        ("inventory.warehouse", "warehouses", warehouse),
        ("inventory.stock_item", "stock-items", item),
        ("support.ticket", "tickets", ticket),
    ] {
        let path = format!("/{}/int/v1/{plural}", name.split('.').next().unwrap());
        let made = world.api(Method::POST, &path).json(&body).send().await.ok(201);
        let made = made.as_object().unwrap().values().next().unwrap();
        let shown = world.api(Method::GET, &format!("{path}/{}", id(made))).send().await.ok(200);
        let shown = shown.as_object().unwrap().values().next().unwrap();
        let schema = &document["components"]["schemas"][name];
        let told: BTreeSet<_> =
            schema["properties"].as_object().unwrap().iter().filter(|(_, form)| form["writeOnly"] != true).map(|(name, _)| name).collect();
        assert_eq!(told, shown.as_object().unwrap().keys().collect(), "{name}");
        assert!(jsonschema::draft202012::new(schema).unwrap().is_valid(shown), "{name}: {shown}");
        let taken = &document["components"]["schemas"][format!("{name}.body")];
        let taken = jsonschema::draft202012::new(taken).unwrap();
        assert!(taken.is_valid(&body) && !taken.is_valid(&json!({ "nonsense": 1 })), "{name}");
    }
}
