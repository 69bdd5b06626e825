//! The health of an endpoint: decisions, section 7, Delivery.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::World;
use crate::support::receiver::Reply;

async fn health_of(world: &World, webhook: &Value) -> Value {
    world.get(&format!("webhooks/{}", webhook["id"].as_str().unwrap())).await["webhook"]["health"].take()
}

#[tokio::test]
async fn a_webhook_shows_how_its_endpoint_is_doing() {
    let world = World::new().await;
    let (receiver, webhook) = world.subscriber("shop.test").await;
    let health = async || health_of(&world, &webhook).await;
    let none = json!({
        "attempts": 0, "success_rate": null, "p50_ms": null, "p95_ms": null, "last_success_at": null, "last_failure_at": null,
        "failing_since": null, "consecutive_failures": 0, "circuit": "closed", "silent_until": null, "certificate_expires_at": null,
    });
    assert_eq!(health().await, none);
    for _ in 0..3 {
        world.publish("order.created").await;
        world.deliver().await;
    }
    world.pass(TimeDelta::minutes(1));
    receiver.will([Reply::status(500)]);
    world.publish("order.created").await;
    world.deliver().await;
    let now = health().await;
    assert_eq!((&now["attempts"], &now["success_rate"]), (&json!(4), &json!(0.75)));
    assert_eq!(now["last_success_at"], "2026-05-21T10:15:00.000+00:00");
    assert_eq!((&now["failing_since"], &now["last_failure_at"]), (&json!("2026-05-21T10:16:00.000+00:00"), &now["failing_since"]));
    assert_eq!((&now["consecutive_failures"], &now["circuit"]), (&json!(1), &json!("closed")));

    receiver.will(std::iter::repeat_n(Reply::status(500), 30));
    for _ in 0..30 {
        world.publish("order.created").await;
        world.deliver().await;
    }
    assert_eq!(health().await["circuit"], "open");
    world.pass(TimeDelta::hours(1));
    assert_eq!(health().await["circuit"], "half_open");
    assert_eq!(world.get("webhooks").await["webhooks"][0].get("health"), None, "lists do not contain the health");
}

#[tokio::test]
async fn of_attempts_that_are_recorded_together_the_failures_after_the_last_success_count() {
    let world = World::new().await;
    let (receiver, webhook) = world.subscriber("shop.test").await;
    receiver.will([500, 200, 500].map(Reply::status));
    world.make_deliveries(3).await;
    let mut attempts = Vec::new();
    for claimed in world.claim().await {
        attempts.push(world.state.webhooks.send(claimed).await);
        world.pass(TimeDelta::seconds(1));
    }
    world.state.webhooks.record(&attempts).await.unwrap();
    let now = health_of(&world, &webhook).await;
    assert_eq!((&now["consecutive_failures"], &now["failing_since"]), (&json!(1), &json!("2026-05-21T10:15:02.000+00:00")));
    assert_eq!((&now["last_success_at"], &now["last_failure_at"]), (&json!("2026-05-21T10:15:01.000+00:00"), &now["failing_since"]));
}

#[tokio::test]
async fn half_of_the_attempts_were_no_slower_than_p50_and_95_percent_no_slower_than_p95() {
    let world = World::new().await;
    let (_receiver, webhook) = world.subscriber("shop.test").await;
    world.publish_many(20).await;
    assert_eq!(world.deliver().await, 20);
    // As if they had taken 10 ms, 20 ms and so on to 200 ms, counted by buckets that are √2 times as wide as the one before.
    let counts = "insert into attempt_hours (subscription_id, hour, company_id, bucket, succeeded)
                  select $1, $2, $3, 1 + floor(2 * log(2, ms)), count(*) from generate_series(10, 200, 10) as ms group by 4";
    let (subscription, hour, company): (Uuid, DateTime<Utc>, Uuid) =
        sqlx::query_as("delete from attempt_hours returning subscription_id, hour, company_id").fetch_all(&world.pool).await.unwrap()[0];
    sqlx::query(counts).bind(subscription).bind(hour).bind(company).execute(&world.pool).await.unwrap();
    let health = health_of(&world, &webhook).await;
    let told = |member: &str| health[member].as_f64().unwrap();
    assert_eq!(health["attempts"], 20);
    // The true values are 105 ms and 191 ms; those told are in the same buckets, which begin at 91 ms and 181 ms.
    assert!((91.0..=128.0).contains(&told("p50_ms")) && (181.0..=256.0).contains(&told("p95_ms")), "{health}");
}
