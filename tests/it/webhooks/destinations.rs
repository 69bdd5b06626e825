//! The values of additional headers are for the address that they were entered for: `docs/webhooks.md`, Changing the URL.

use portico::app::sealed_columns;
use portico::callers::Scope;
use portico::kernel::sealed_values;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::receiver::Receiver;
use crate::support::subscribers::last_attempt;

const SEND_AGAIN: &str = "Send the value again: the stored one is for another address, or cannot be decrypted.";

/// A webhook whose endpoint asks for a password; returns the endpoint and the path of the webhook.
async fn guarded(world: &World) -> (Receiver, String) {
    let receiver = world.endpoint("shop.test").await;
    let webhook = world.subscribe(&receiver, json!({ "headers": { "authorization": "Bearer abc", "x-shop": "7" } })).await;
    (receiver, format!("webhooks/{}", webhook["id"].as_str().unwrap()))
}

async fn deliver(world: &World) {
    world.publish("order.created").await;
    world.deliver().await;
}

#[tokio::test]
async fn a_key_that_may_change_the_url_does_not_get_the_headers_sent_there() {
    let world = World::new().await;
    let (shop, path) = guarded(&world).await;
    let elsewhere = world.endpoint("elsewhere.test").await;
    let write = world.key_of(world.company, &[Scope::Read, Scope::Write]).await;
    let path = format!("/developers/int/v1/{path}");
    let put = async |body: Value| world.request(Method::PUT, &path).key(&write).json(&body).send().await;
    for body in [
        json!({ "url": elsewhere.url() }),
        json!({ "url": elsewhere.url(), "headers": { "authorization": "********", "x-shop": "********" } }),
        json!({ "url": elsewhere.url(), "headers": { "authorization": "********", "x-shop": "8" } }),
        json!({ "url": elsewhere.url(), "headers": { "x-another": "********" } }),
        json!({ "url": "https://shop.test:8443/hooks" }),
    ] {
        let refused = put(body.clone()).await.refused(422, "body_invalid");
        assert_eq!(refused["fields"], json!({ "headers": [SEND_AGAIN] }), "{body}");
    }
    deliver(&world).await;
    assert_eq!((shop.headers("authorization"), elsewhere.count()), (vec!["Bearer abc".to_owned()], 0));

    // A path of the same origin is the same address.
    put(json!({ "url": format!("{}/of/orders?shop=7", shop.url()) })).await.ok(200);
    deliver(&world).await;
    assert_eq!(shop.headers("authorization"), ["Bearer abc", "Bearer abc"]);
    // Whoever sends values of their own, or none, may send everything there.
    put(json!({ "url": elsewhere.url(), "headers": { "authorization": "Bearer xyz" } })).await.ok(200);
    deliver(&world).await;
    let received = elsewhere.only();
    assert_eq!((received.header("authorization"), received.headers.contains_key("x-shop")), ("Bearer xyz", false));
    put(json!({ "url": shop.url(), "headers": {} })).await.ok(200);
    put(json!({ "url": elsewhere.url() })).await.ok(200);
    deliver(&world).await;
    assert!(!elsewhere.received().pop().unwrap().headers.contains_key("authorization"));
}

#[tokio::test]
async fn an_address_that_was_changed_past_the_service_gets_no_headers() {
    let world = World::new().await;
    let (shop, path) = guarded(&world).await;
    let elsewhere = world.endpoint("elsewhere.test").await;
    sqlx::query("update subscriptions set url = $1, version = version + 1").bind(elsewhere.url()).execute(&world.pool).await.unwrap();
    deliver(&world).await;
    assert_eq!(last_attempt(&world.last_delivery().await), (None, Some("unsigned")));
    assert_eq!((shop.count(), elsewhere.count()), (0, 0));
    // It is counted, so that somebody notices.
    let census = sealed_values::count(&world.pool, &world.application_key, &sealed_columns()).await.unwrap();
    assert_eq!(census.lost.into_iter().collect::<Vec<_>>(), [("headers of webhooks", 1)]);
    // At the address that they are for, they open again.
    world.developers(Method::PUT, &path, json!({ "url": shop.url() })).await.ok(200);
    deliver(&world).await;
    assert_eq!(shop.headers("authorization"), ["Bearer abc"]);
}

#[tokio::test]
async fn headers_that_cannot_be_decrypted_hold_up_no_other_change() {
    let world = World::new().await;
    let (shop, path) = guarded(&world).await;
    let elsewhere = world.endpoint("elsewhere.test").await;
    sqlx::query("update subscriptions set sealed_headers = 'sealed under another key', version = version + 1")
        .execute(&world.pool)
        .await
        .unwrap();
    for body in [json!({ "description": "Ours" }), json!({ "status": "disabled" }), json!({ "url": format!("{}/2", shop.url()) })] {
        world.developers(Method::PUT, &path, body).await.ok(200);
    }
    for body in [json!({ "headers": { "authorization": "********" } }), json!({ "url": elsewhere.url() })] {
        let refused = world.developers(Method::PUT, &path, body).await.refused(422, "body_invalid");
        assert_eq!(refused["fields"]["headers"][0], SEND_AGAIN);
    }
    world.developers(Method::PUT, &path, json!({ "url": elsewhere.url(), "headers": {} })).await.ok(200);
}
