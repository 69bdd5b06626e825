//! Webhooks as a resource: interface 2, Webhook subscription; decisions, sections 7 and 9.

use reqwest::Method;
use serde_json::json;

use crate::support::World;

#[tokio::test]
async fn a_webhook_has_the_five_routes() {
    let world = World::new().await;
    world.resolver.insert("shop.test", &["127.0.0.1".parse().unwrap()]);
    let created = world.developers(Method::POST, "webhooks", json!({ "webhook": { "url": "https://shop.test:8443/hooks" } })).await.ok(201);
    let webhook = &created["webhook"];
    assert!(webhook["id"].as_str().unwrap().starts_with("webhook_"));
    for (member, value) in [
        ("url", json!("https://shop.test:8443/hooks")),
        ("description", json!(null)),
        ("events", json!([])),
        ("status", json!("enabled")),
        ("disabled_reason", json!(null)),
        ("disabled_at", json!(null)),
        ("api_version", json!("1.0")),
        ("signature_format", json!("bare")),
        ("headers", json!({})),
        ("timeout", json!(15)),
        ("previous_secret_until", json!(null)),
        ("created_at", json!("2026-05-21T10:15:00.000+00:00")),
    ] {
        assert_eq!(webhook[member], value, "{member}");
    }
    let path = format!("webhooks/{}", webhook["uuid"].as_str().unwrap());
    let change = json!({
        "description": "The shop", "events": ["order.*"], "signature_format": "prefixed", "headers": { "X-Shop": "7" }, "timeout": 30,
    });
    let changed = world.developers(Method::PUT, &path, change).await.ok(200);
    assert_eq!((&changed["webhook"]["headers"], &changed["webhook"]["timeout"]), (&json!({ "x-shop": "********" }), &json!(30)));
    assert_eq!(changed["webhook"]["url"], webhook["url"], "fields that are not sent keep their value");
    let disabled = world.developers(Method::PUT, &path, json!({ "status": "disabled" })).await.ok(200);
    assert_eq!(disabled["webhook"]["disabled_reason"], "requested");
    assert_eq!(world.get("webhooks?status=enabled").await["webhooks"], json!([]));
    assert_eq!(world.get("webhooks?query=THE+shop").await["webhooks"][0]["id"], webhook["id"]);
    world.developers(Method::DELETE, &path, json!({})).await.ok(200);
    world.developers(Method::GET, &path, json!({})).await.refused(404, "record_not_found");
}

#[tokio::test]
async fn what_is_no_webhook_is_refused_and_nothing_is_stored() {
    let world = World::new().await;
    world.resolver.insert("shop.test", &["127.0.0.1".parse().unwrap()]);
    let long = format!("https://shop.test/{}", "a".repeat(2048));
    let many: serde_json::Map<_, _> = (0..21).map(|number| (format!("x-{number}"), json!("x"))).collect();
    for (member, value) in [
        ("url", json!("http://shop.test/hooks")),
        ("url", json!("https://shop.test:80/")),
        ("url", json!("https://shop.test:22/")),
        ("url", json!("https://ada:secret@shop.test/")),
        ("url", json!("https://shop.test/#part")),
        ("url", json!("shop.test")),
        ("url", json!("")),
        ("url", json!("https://shop.test/\r\nX-Other: y")),
        ("url", json!(long)),
        ("url", json!(7)),
        ("url", json!(null)),
        ("description", json!("x".repeat(256))),
        ("description", json!("two\nlines")),
        ("events", json!(["order.made"])),
        ("events", json!(["orders.*"])),
        ("events", json!(["order"])),
        ("events", json!([""])),
        ("events", json!("order.created")),
        ("events", json!(null)),
        ("status", json!("asleep")),
        ("api_version", json!("2.0")),
        ("signature_format", json!("sha1")),
        ("headers", json!({ "Host": "elsewhere.test" })),
        ("headers", json!({ "Content-Length": "1" })),
        ("headers", json!({ "Transfer-Encoding": "chunked" })),
        ("headers", json!({ "X-Service-Signature": "0" })),
        ("headers", json!({ "webhook-id": "0" })),
        ("headers", json!({ "x-shop": "a\r\nx-other: b" })),
        ("headers", json!({ "x shop": "a" })),
        ("headers", json!({ "x-shop": 7 })),
        ("headers", json!(many)),
        ("headers", json!([])),
        ("timeout", json!(0)),
        ("timeout", json!(31)),
        ("timeout", json!(1.5)),
        ("timeout", json!("15")),
        ("secret", json!("whsec_mine")),
        ("evnets", json!([])),
    ] {
        let mut body = json!({ "url": "https://shop.test/hooks" });
        body[member] = value.clone();
        let refusal = world.developers(Method::POST, "webhooks", body).await.refused(422, "body_invalid");
        let field = refusal["fields"].as_object().and_then(|fields| fields.keys().next().cloned());
        assert!(field.is_some_and(|field| field.starts_with(member)), "{member} = {value}: {refusal}");
    }
    let refusal = world.developers(Method::POST, "webhooks", json!({ "events": [] })).await.refused(422, "body_invalid");
    assert_eq!(refusal["fields"]["url"][0], "url is required.");
    world.developers(Method::POST, "webhooks", json!([])).await.refused(422, "body_invalid");
    assert_eq!(world.count("select count(*) from subscriptions").await, 0);
}

#[tokio::test]
async fn another_companys_webhooks_are_not_there() {
    let world = World::new().await;
    let (_receiver, webhook) = world.subscriber("shop.test").await;
    world.publish("order.created").await;
    world.deliver().await;
    let delivery = world.last_delivery().await;
    let (_, key) = world.another_company(&[portico::callers::Scope::Admin]).await;
    let id = webhook["id"].as_str().unwrap();
    for (method, path) in [
        (Method::GET, format!("webhooks/{id}")),
        (Method::PUT, format!("webhooks/{id}")),
        (Method::DELETE, format!("webhooks/{id}")),
        (Method::POST, format!("webhooks/{id}/test")),
        (Method::POST, format!("webhooks/{id}/rotate-secret")),
        (Method::POST, format!("webhooks/{id}/enable")),
        (Method::POST, format!("webhooks/{id}/disable")),
        (Method::GET, format!("deliveries/{}", delivery["id"].as_str().unwrap())),
        (Method::GET, format!("events/{}", delivery["event_id"].as_str().unwrap())),
    ] {
        let request = world.request(method, &format!("/developers/int/v1/{path}")).key(&key).json(&json!({}));
        request.send().await.refused(404, "record_not_found");
    }
    for path in ["webhooks", "deliveries", "events"] {
        let list = world.request(Method::GET, &format!("/developers/int/v1/{path}")).key(&key).send().await.ok(200);
        assert_eq!(list[path], json!([]));
    }
}

#[tokio::test]
async fn a_key_needs_the_scope() {
    let world = World::new().await;
    let (_receiver, webhook) = world.subscriber("shop.test").await;
    let id = webhook["id"].as_str().unwrap();
    let reads = world.key_of(world.company, &[portico::callers::Scope::Read]).await;
    for (method, path) in [
        (Method::POST, "webhooks".to_owned()),
        (Method::POST, format!("webhooks/{id}/test")),
        (Method::POST, format!("webhooks/{id}/rotate-secret")),
        (Method::POST, format!("webhooks/{id}/enable")),
        (Method::POST, format!("webhooks/{id}/disable")),
    ] {
        let request = world.request(method, &format!("/developers/int/v1/{path}")).key(&reads).json(&json!({}));
        request.send().await.refused(403, "scope_missing");
    }
    let events = world.key_of(world.company, &[portico::callers::Scope::Events]).await;
    for path in ["webhooks", "deliveries", "events", "event-types"] {
        world.request(Method::GET, &format!("/developers/int/v1/{path}")).send().await.refused(401, "api_key_invalid");
        world.request(Method::GET, &format!("/developers/int/v1/{path}")).key(&events).send().await.refused(403, "scope_missing");
    }
}

#[tokio::test]
async fn deliveries_are_a_log_that_can_be_narrowed() {
    let world = World::new().await;
    let (_one, first) = world.subscriber("one.test").await;
    let (_two, _) = world.subscriber("two.test").await;
    let event = world.publish("order.created").await;
    world.publish("driver.online").await;
    world.deliver().await;
    let count = async |narrowed: String| world.get(&format!("deliveries?{narrowed}")).await["deliveries"].as_array().unwrap().len();
    assert_eq!(count("limit=100".to_owned()).await, 4);
    assert_eq!(count(format!("webhook={}", first["id"].as_str().unwrap())).await, 2);
    assert_eq!(count(format!("subscription={}", first["uuid"].as_str().unwrap())).await, 2);
    assert_eq!(count("event=driver.online".to_owned()).await, 2);
    assert_eq!(count(format!("event_id={event}")).await, 2);
    assert_eq!(count("status=delivered".to_owned()).await, 4);
    assert_eq!(count("status=failed".to_owned()).await, 0);
    let refusal = world.developers(Method::GET, "deliveries?status=lost", json!({})).await;
    refusal.refused(422, "parameter_invalid");
    let delivery = world.last_delivery().await;
    let path = format!("deliveries/{}", delivery["id"].as_str().unwrap());
    for method in [Method::PUT, Method::DELETE] {
        world.developers(method, &path, json!({})).await.refused(405, "method_not_allowed");
    }
    world.developers(Method::POST, "deliveries", json!({})).await.refused(405, "method_not_allowed");
}
