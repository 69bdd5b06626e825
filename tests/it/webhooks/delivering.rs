//! An event is delivered to its subscribers: interface 2, Authentication and Event envelope; decisions, section 7, Headers.

use portico::events::{self, NewEvent};
use portico::kernel::clock::Clock;
use portico::kernel::crypto::hmac_sha256;
use reqwest::Method;
use serde_json::{Map, Value, json};

use crate::support::World;
use crate::support::receiver::Reply;
use crate::support::subscribers::last_attempt;

#[tokio::test]
async fn an_event_is_posted_to_who_subscribed_with_everything_the_interface_names() {
    let world = World::new().await;
    let (receiver, webhook) = world.subscriber("shop.test").await;
    let event = world.publish("order.created").await;
    assert_eq!(world.deliver().await, 1);

    let received = receiver.only();
    assert_eq!(received.head, "POST /hooks HTTP/1.1");
    let delivery = world.last_delivery().await;
    for (name, value) in [
        ("content-type", "application/json"),
        ("user-agent", concat!("Portico-Webhooks/", env!("CARGO_PKG_VERSION"))),
        ("x-service-event", "order.created"),
        ("x-service-delivery", delivery["id"].as_str().unwrap()),
        ("x-service-attempt", "1"),
        ("webhook-id", &event.to_string()),
        ("webhook-timestamp", &world.clock.now().timestamp().to_string()),
    ] {
        assert_eq!(received.header(name), value, "{name}");
    }
    let envelope: Map<String, Value> = serde_json::from_slice(&received.body).unwrap();
    assert_eq!(envelope.keys().collect::<Vec<_>>(), ["id", "api_version", "event", "created_at", "data"]);
    assert_eq!((&envelope["id"], &envelope["api_version"]), (&json!(event), &json!("1.0")));
    assert_eq!(envelope["event"], "order.created");
    assert_eq!(envelope["created_at"], "2026-05-21T10:15:00.000+00:00");
    assert_eq!(envelope["data"]["meta"]["note"], "ünïcode ☂");

    assert_eq!((&delivery["status"], &delivery["event"]), (&json!("delivered"), &json!("order.created")));
    assert_eq!((&delivery["webhook_id"], &delivery["event_id"]), (&webhook["id"], &envelope["id"]));
    assert_eq!(delivery["payload"], Value::Object(envelope));
    let attempt = &delivery["attempts"][0];
    assert_eq!((&attempt["number"], &attempt["status"], &attempt["error"]), (&json!(1), &json!(200), &json!(null)));
    assert_eq!(attempt["request_headers"]["webhook-id"], delivery["event_id"]);
    assert_eq!(attempt["response_headers"]["content-length"], "0");
    assert!(attempt["id"].as_str().unwrap().starts_with("attempt_") && attempt["duration_ms"].is_i64());
    assert_eq!(world.deliver().await, 0, "the delivery is finished");
}

#[tokio::test]
async fn a_change_to_a_driver_reaches_who_follows_drivers() {
    let world = World::new().await;
    let receiver = world.endpoint("shop.test").await;
    world.subscribe(&receiver, json!({ "events": ["driver.*"] })).await;
    let driver = world.driver("Ada").await;
    world.deliver().await;
    let received = receiver.only();
    assert_eq!(received.header("x-service-event"), "driver.created");
    let envelope: Value = serde_json::from_slice(&received.body).unwrap();
    let data = &envelope["data"];
    assert_eq!((&data["id"], &data["public_id"], &data["uuid"]), (&driver["id"], &driver["id"], &driver["uuid"]));
    assert_eq!((&data["name"], &data["additionalData"]), (&json!("Ada"), &json!({})));
}

#[tokio::test]
async fn the_interfaces_recipe_verifies_the_signature_bare_and_prefixed() {
    let world = World::new().await;
    let (bare, first) = world.subscriber("bare.test").await;
    let prefixed = world.endpoint("prefixed.test").await;
    let second = world.subscribe(&prefixed, json!({ "signature_format": "prefixed" })).await;
    world.publish("order.created").await;
    world.deliver().await;
    for (receiver, webhook, prefix) in [(bare, first, ""), (prefixed, second, "sha256=")] {
        let received = receiver.only();
        let digest = hmac_sha256(webhook["secret"].as_str().unwrap().as_bytes(), &[&received.body]);
        assert_eq!(received.header("x-service-signature"), format!("{prefix}{}", hex::encode(digest)));
    }
}

#[tokio::test]
async fn the_library_of_standard_webhooks_verifies_a_delivery_as_it_is() {
    // The library uses the system clock, so this world does too.
    let world = World::new().await;
    let (receiver, webhook) = world.subscriber("shop.test").await;
    // The library reads the system clock.
    world.pass(Clock::System.now() - world.clock.now());
    world.publish("order.created").await;
    world.deliver().await;
    let received = receiver.only();
    let library = standardwebhooks::Webhook::new(webhook["secret"].as_str().unwrap()).unwrap();
    library.verify(&received.body, &received.headers).unwrap();
    library.verify(b"{}", &received.headers).unwrap_err();
}

#[tokio::test]
async fn only_the_events_that_are_wanted_arrive() {
    let world = World::new().await;
    let mut wanted = Vec::new();
    for (name, events) in [
        ("all.test", json!([])),
        ("star.test", json!(["*"])),
        ("orders.test", json!(["order.*"])),
        ("one.test", json!(["order.created"])),
        ("two.test", json!(["driver.online", "order.created"])),
    ] {
        let receiver = world.endpoint(name).await;
        world.subscribe(&receiver, json!({ "events": events })).await;
        wanted.push(receiver);
    }
    for event in ["order.created", "order.completed", "driver.online", "tracking_status.created"] {
        world.publish(event).await;
    }
    world.deliver().await;
    let arrived = |index: usize| {
        let mut events = wanted[index].headers("x-service-event");
        events.sort_unstable();
        events
    };
    let all = ["driver.online", "order.completed", "order.created", "tracking_status.created"];
    assert_eq!((arrived(0), arrived(1)), (all.map(str::to_owned).to_vec(), all.map(str::to_owned).to_vec()));
    assert_eq!(arrived(2), ["order.completed", "order.created"]);
    assert_eq!(arrived(3), ["order.created"]);
    assert_eq!(arrived(4), ["driver.online", "order.created"]);
}

#[tokio::test]
async fn another_companys_events_stay_with_it() {
    let world = World::new().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    let (other, _) = world.another_company(&[]).await;
    world.publish_for(other, "order.created").await;
    assert_eq!(world.deliver().await, 0);
    assert!(receiver.received().is_empty());
}

#[tokio::test]
async fn a_rolled_back_change_publishes_nothing() {
    let world = World::new().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    let event = NewEvent {
        company: world.company,
        name: "order.created".parse().unwrap(),
        subject: None,
        owner: None,
        request: None,
        trace: None,
        data: Map::new().into(),
    };
    let mut transaction = world.pool.begin().await.unwrap();
    events::publish(&mut transaction, event, world.clock.now()).await.unwrap();
    transaction.rollback().await.unwrap();
    assert_eq!(world.deliver().await, 0);
    assert!(receiver.received().is_empty());
}

#[tokio::test]
async fn extra_headers_go_along() {
    let world = World::new().await;
    let receiver = world.endpoint("shop.test").await;
    let webhook = world.subscribe(&receiver, json!({ "headers": { "Authorization": "Bearer abc", "X-Shop": "7" } })).await;
    world.publish("order.created").await;
    world.deliver().await;
    let received = receiver.only();
    assert_eq!((received.header("authorization"), received.header("x-shop")), ("Bearer abc", "7"));

    let masked = json!({ "authorization": "********", "x-shop": "********" });
    let path = format!("webhooks/{}", webhook["id"].as_str().unwrap());
    assert_eq!((&webhook["headers"], &world.get(&path).await["webhook"]["headers"]), (&masked, &masked));
    let logged = world.last_delivery().await["attempts"][0]["request_headers"].take();
    assert_eq!(
        (&logged["authorization"], &logged["x-shop"], &logged["x-service-attempt"]),
        (&json!("********"), &json!("********"), &json!("1"))
    );
    let stored: String = sqlx::query_scalar("select subscriptions::text from subscriptions").fetch_one(&world.pool).await.unwrap();
    assert!(!stored.contains("Bearer") && !stored.contains(&hex::encode("Bearer abc")), "{stored}");

    // A masked value that is sent back keeps the stored value.
    let change = json!({ "headers": { "authorization": "********", "x-shop": "8" } });
    world.developers(Method::PUT, &path, change.clone()).await.ok(200);
    world.publish("order.created").await;
    world.deliver().await;
    let received = receiver.received().pop().unwrap();
    assert_eq!((received.header("authorization"), received.header("x-shop")), ("Bearer abc", "8"));
    let version = world.developers(Method::PUT, &path, change).await;
    assert_eq!(version.header("etag"), Some("\"2\""), "an update without a change keeps the version");

    // Where there is none, the mask stands for nothing: a header that is renamed, and one of a new webhook.
    let renamed = json!({ "headers": { "authorization": "********", "x-store": "********" } });
    let nothing = "The header x-store has no stored value that ******** could keep. Send the value itself.";
    let refused = world.developers(Method::PUT, &path, renamed.clone()).await.refused(422, "body_invalid");
    assert_eq!(refused["fields"], json!({ "headers": [nothing] }));
    let new = json!({ "url": receiver.url(), "headers": { "x-store": "********" } });
    assert_eq!(world.developers(Method::POST, "webhooks", new).await.refused(422, "body_invalid")["fields"], refused["fields"]);
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let world = World::new().await;
    let (elsewhere, _) = world.subscriber("elsewhere.test").await;
    let receiver = world.endpoint("shop.test").await;
    world.subscribe(&receiver, json!({ "events": ["order.created"] })).await;
    receiver.will([301, 302, 303, 307, 308].map(|status| Reply::with(status, "location", &elsewhere.url())));
    for _ in 0..5 {
        world.publish("order.created").await;
    }
    world.deliver().await;
    assert_eq!((receiver.received().len(), elsewhere.received().len()), (5, 5), "the other webhook gets only its own deliveries");
    assert_eq!(world.count("select count(*) from delivery_log where state = 'retrying'").await, 5);
    assert_eq!(world.count("select count(*) from attempts where status between 300 and 308 and error is null").await, 5);
}

#[tokio::test]
async fn any_2xx_is_success() {
    let world = World::new().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    receiver.will([200, 201, 202, 204, 226].map(Reply::status));
    for _ in 0..5 {
        world.publish("order.created").await;
    }
    world.deliver().await;
    assert_eq!(world.count("select count(*) from deliveries where state = 'delivered'").await, 5);
    assert_eq!(last_attempt(&world.last_delivery().await).1, None);
}

#[tokio::test]
async fn events_can_be_looked_up() {
    let world = World::new().await;
    let event = world.publish("order.created").await;
    world.publish("driver.online").await;
    let found = world.get(&format!("events/{event}")).await;
    assert_eq!((&found["event"]["event"], &found["event"]["data"]["meta"]["note"]), (&json!("order.created"), &json!("ünïcode ☂")));
    assert_eq!(world.get("events?event=driver.online").await["events"].as_array().unwrap().len(), 1);
    world.developers(Method::PUT, &format!("events/{event}"), json!({})).await.refused(405, "method_not_allowed");
}

#[tokio::test]
async fn headers_that_can_no_longer_be_decrypted_are_replaced() {
    let world = World::new().await;
    let receiver = world.endpoint("shop.test").await;
    let webhook = world.subscribe(&receiver, json!({ "headers": { "authorization": "Bearer abc" } })).await;
    sqlx::query("update subscriptions set sealed_headers = 'sealed under another key', version = version + 1")
        .execute(&world.pool)
        .await
        .unwrap();
    world.publish("order.created").await;
    world.deliver().await;
    assert_eq!(receiver.received().len(), 0, "nothing is sent without its headers");

    let path = format!("webhooks/{}", webhook["id"].as_str().unwrap());
    world.developers(Method::PUT, &path, json!({ "headers": { "authorization": "Bearer xyz" } })).await.ok(200);
    world.publish("order.created").await;
    world.deliver().await;
    assert_eq!(receiver.only().header("authorization"), "Bearer xyz");
}
