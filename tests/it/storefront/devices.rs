//! Push devices: interface 1, rule 9; decisions, section 3 (Device).

use chrono::TimeDelta;
use futures::future::join_all;
use serde_json::json;

use crate::support::World;
use crate::support::customers::{EMAIL, token};

#[tokio::test]
async fn a_token_moves_to_the_customer_who_registered_it_last() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    let bob = token(&world.register("bob@example.com").await);
    let register = |who: &str, platform: &str| {
        let body = json!({ "platform": platform, "token": "apns-token" });
        world.storefront("customers/register-device").token(who).json(&body).send()
    };
    let first = register(&ada, "iOS").await.ok(200);
    assert_eq!(first["status"], "ok");
    assert!(first["device"].as_str().unwrap().starts_with("device_"));
    let second = register(&bob, "ios").await.ok(200);
    assert_eq!(first["device"], second["device"]);
    let owned = "select count(*) from devices join customers on customers.id = customer_id where email = 'bob@example.com'";
    assert_eq!(world.count(owned).await, 1);
    assert_eq!(world.count("select count(*) from devices").await, 1);

    // Ada can no longer remove it; Bob can.
    let by_token = json!({ "token": "apns-token" });
    let remove = |who: &str| world.storefront("customers/unregister-device").token(who).json(&by_token).send();
    remove(&ada).await.refused(404, "record_not_found");
    assert_eq!(remove(&bob).await.ok(200), json!({ "status": "ok" }));
}

#[tokio::test]
async fn a_device_is_removed_by_its_id() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    let body = json!({ "os": "ANDROID", "token": "fcm" });
    let device = world.storefront("customers/register-device").token(&ada).json(&body).send().await.ok(200)["device"].clone();
    let body = json!({ "device": device });
    world.storefront("customers/unregister-device").token(&ada).json(&body).send().await.ok(200);
    assert_eq!(world.count("select count(*) from devices").await, 0);
}

#[tokio::test]
async fn null_beside_the_other_name_is_not_sent() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    let register = |body: serde_json::Value| world.storefront("customers/register-device").token(&ada).json(&body).send();
    register(json!({ "platform": "ios", "os": null, "token": "a" })).await.ok(200);
    register(json!({ "platform": null, "os": "android", "token": "b" })).await.ok(200);
    for (platform, os) in [(json!(null), json!(null)), (json!("ios"), json!("ios"))] {
        let refused = register(json!({ "platform": platform, "os": os, "token": "c" })).await.refused(422, "body_invalid");
        assert!(refused["fields"]["platform"].is_array(), "{refused}");
    }
}

#[tokio::test]
async fn every_platform_and_a_long_token_are_accepted() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    for (platform, token) in [("ios", "apns"), ("android", "fcm"), ("web", "x"), ("Web", &"é".repeat(4096))] {
        let body = json!({ "platform": platform, "token": token });
        world.storefront("customers/register-device").token(&ada).json(&body).send().await.ok(200);
    }
    assert_eq!(world.count("select count(*) from devices").await, 4);
    assert_eq!(world.count("select count(*) from devices where platform = 'web'").await, 2);
}

#[tokio::test]
async fn bad_devices_are_refused_by_member() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    for (body, member) in [
        (json!({ "platform": "windows", "token": "x" }), "platform"),
        (json!({ "platform": "ios", "token": "" }), "token"),
        (json!({ "platform": "ios", "token": "x".repeat(4097) }), "token"),
        (json!({ "platform": "ios" }), "token"),
        (json!({ "token": "x" }), "platform"),
    ] {
        let refusal = world.storefront("customers/register-device").token(&ada).json(&body).send().await.refused(422, "body_invalid");
        assert!(refusal["fields"][member].is_array(), "{refusal}");
    }
    let nothing = json!({});
    world.storefront("customers/unregister-device").token(&ada).json(&nothing).send().await.refused(422, "body_invalid");
    assert_eq!(world.count("select count(*) from devices").await, 0);
}

#[tokio::test]
async fn a_customer_has_twenty_devices_and_the_one_registered_longest_ago_goes() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    let register = |number: usize| {
        let body = json!({ "platform": "web", "token": format!("token {number}") });
        world.storefront("customers/register-device").token(&ada).json(&body).send()
    };
    let first = register(0).await.ok(200)["device"].clone();
    world.pass(TimeDelta::seconds(1));
    for answer in join_all((1..=20).map(register)).await {
        answer.ok(200);
    }
    assert_eq!(world.count("select count(*) from devices").await, 20);
    let body = json!({ "device": first });
    world.storefront("customers/unregister-device").token(&ada).json(&body).send().await.refused(404, "record_not_found");
}
