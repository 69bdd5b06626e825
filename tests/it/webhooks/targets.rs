//! Webhooks cannot be used to reach internal hosts (SSRF): decisions, section 7, Targets.

use std::net::IpAddr;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::subscribers::will_be_retried_after;

/// A world where loopback is not an allowed network.
async fn closed_world() -> World {
    World::with(&[("webhooks.allowed_networks", "")]).await
}

fn addresses(all: &[&str]) -> Vec<IpAddr> {
    all.iter().map(|address| address.parse().unwrap()).collect()
}

#[tokio::test]
async fn an_endpoint_at_a_private_address_cannot_be_registered() {
    let world = closed_world().await;
    for (name, leads_to) in [
        ("private.test", "10.0.0.7"),
        ("loop.test", "127.0.0.1"),
        ("six.test", "::1"),
        ("mapped.test", "::ffff:10.0.0.7"),
        ("meta.test", "169.254.169.254"),
    ] {
        world.resolver.insert(name, &addresses(&[leads_to]));
    }
    for url in [
        "https://127.0.0.1:8443/",
        "https://10.0.0.7/",
        "https://169.254.169.254/latest/meta-data",
        "https://[::1]:8443/",
        "https://[::ffff:10.0.0.7]/",
        "https://[::ffff:a00:7]/",
        "https://[64:ff9b::a00:7]/",
        "https://0x7f000001/",
        "https://2130706433/",
        "https://127.1/",
        "https://0177.0.0.1/",
        "https://private.test/",
        "https://loop.test/",
        "https://six.test/",
        "https://mapped.test/",
        "https://meta.test/",
        "https://nobody.test/",
    ] {
        let refused = world.developers(Method::POST, "webhooks", json!({ "url": url })).await.refused(422, "endpoint_forbidden");
        assert_eq!(refused["fields"]["url"][0], refused["detail"]);
    }
    assert_eq!(world.count("select count(*) from subscriptions").await, 0);
}

#[tokio::test]
async fn an_endpoint_cannot_be_moved_to_a_private_address() {
    let world = closed_world().await;
    world.resolver.insert("public.test", &addresses(&["93.184.216.34"]));
    let webhook = world.developers(Method::POST, "webhooks", json!({ "url": "https://public.test/" })).await.ok(201);
    let path = format!("webhooks/{}", webhook["webhook"]["id"].as_str().unwrap());
    world.developers(Method::PUT, &path, json!({ "url": "https://10.0.0.7/" })).await.refused(422, "endpoint_forbidden");
    assert_eq!(world.get(&path).await["webhook"]["url"], "https://public.test/");
}

#[tokio::test]
async fn a_name_that_changes_its_address_after_registration_gains_nothing() {
    let world = closed_world().await;
    let receiver = world.endpoint("rebound.test").await;
    world.resolver.insert("rebound.test", &addresses(&["93.184.216.34"]));
    world.subscribe(&receiver, json!({})).await;
    for private in [&["127.0.0.1"][..], &["::ffff:127.0.0.1"], &["10.0.0.7", "127.0.0.1"]] {
        world.resolver.insert("rebound.test", &addresses(private));
        world.publish("order.created").await;
        world.deliver().await;
        will_be_retried_after(&world.last_delivery().await, "blocked");
    }
    assert!(receiver.received().is_empty());
}

#[tokio::test]
async fn an_address_that_was_allowed_once_is_looked_at_before_every_attempt() {
    let world = closed_world().await;
    let receiver = world.endpoint("127.0.0.1").await;
    // As if the network had been allowed at registration and is no longer allowed.
    let public = world.developers(Method::POST, "webhooks", json!({ "url": "https://93.184.216.34/" })).await.ok(201);
    assert_eq!(public["webhook"]["status"], "enabled");
    sqlx::query("update subscriptions set url = $1").bind(receiver.url()).execute(&world.pool).await.unwrap();
    world.publish("order.created").await;
    world.deliver().await;
    will_be_retried_after(&world.last_delivery().await, "blocked");
    assert!(receiver.received().is_empty());
}

#[tokio::test]
async fn of_several_addresses_only_the_allowed_ones_are_connected_to() {
    let world = World::with(&[("webhooks.allowed_networks", "127.0.0.1/32")]).await;
    let receiver = world.endpoint("both.test").await;
    world.resolver.insert("both.test", &addresses(&["127.0.0.2", "10.0.0.7", "127.0.0.1"]));
    world.subscribe(&receiver, json!({})).await;
    world.publish("order.created").await;
    world.deliver().await;
    assert_eq!(receiver.received().len(), 1);
}

#[tokio::test]
async fn a_name_with_addresses_of_both_kinds_is_reached_at_the_one_that_answers() {
    let world = World::with(&[("webhooks.allowed_networks", "127.0.0.0/8,::1/128,fd00::/8")]).await;
    let receiver = world.endpoint("both.test").await;
    // No server listens on the IPv6 address.
    world.resolver.insert("both.test", &addresses(&["::1", "127.0.0.1"]));
    world.subscribe(&receiver, json!({})).await;
    world.publish("order.created").await;
    world.deliver().await;
    assert_eq!((receiver.received().len(), world.last_delivery().await["status"].as_str()), (1, Some("delivered")));
}

#[tokio::test]
async fn a_name_that_leads_nowhere_any_more_is_a_failure() {
    let world = World::new().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    sqlx::query("update subscriptions set url = 'https://gone.test/'").execute(&world.pool).await.unwrap();
    world.publish("order.created").await;
    world.deliver().await;
    will_be_retried_after(&world.last_delivery().await, "dns");
    assert!(receiver.received().is_empty());
}

#[tokio::test]
async fn an_opened_network_takes_addresses_and_names() {
    let world = World::new().await;
    let literal = world.endpoint("127.0.0.1").await;
    world.subscribe(&literal, json!({})).await;
    world.publish("order.created").await;
    world.deliver().await;
    let delivery: Value = world.last_delivery().await;
    assert_eq!((delivery["status"].as_str(), literal.received().len()), (Some("delivered"), 1), "{delivery}");
}
