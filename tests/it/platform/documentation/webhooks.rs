//! The events are in the OpenAPI document as its webhooks.

use std::collections::BTreeSet;

use portico::kernel::json_schema;
use reqwest::Method;

use crate::support::World;

#[tokio::test]
async fn the_document_has_every_event_type_with_its_schema_and_a_sample_that_fits() {
    let world = World::new().await;
    let document = world.request(Method::GET, "/openapi.json").send().await.ok(200);
    let webhooks = document["webhooks"].as_object().unwrap();
    let names: BTreeSet<_> = webhooks.keys().map(String::as_str).collect();
    let catalogue = &world.state.developers.catalogue;
    assert_eq!(names, catalogue.iter().map(|event_type| event_type.name.as_str()).collect());
    assert!(names.contains("order.created") && names.contains("ticket.resolved"), "those of declared kinds too");
    for (name, item) in webhooks {
        let delivery = &item["post"];
        assert_eq!(item.as_object().unwrap().len(), 1);
        assert!(delivery["summary"].as_str().unwrap().ends_with('.'), "{name}");
        let content = &delivery["requestBody"]["content"]["application/json"];
        let schema = json_schema::validator(&content["schema"]).unwrap();
        json_schema::check(&schema, &content["example"]).unwrap_or_else(|unfit| panic!("{name}: {unfit}"));
        assert_eq!(content["example"]["event"], name.as_str());
        assert_eq!(content["schema"], catalogue.find(name).unwrap().schema());
        for header in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
            assert!(delivery["parameters"].as_array().unwrap().iter().any(|one| one["name"] == header && one["in"] == "header"));
        }
    }
}

#[tokio::test]
async fn a_delivery_has_the_documented_headers() {
    let world = World::new().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    world.order(serde_json::json!({})).await;
    world.deliver().await;
    let document = world.request(Method::GET, "/openapi.json").send().await.ok(200);
    let received = receiver.received();
    for header in document["webhooks"]["order.created"]["post"]["parameters"].as_array().unwrap() {
        let name = header["name"].as_str().unwrap().to_lowercase();
        assert!(!received[0].header(&name).is_empty(), "{name}");
    }
}
