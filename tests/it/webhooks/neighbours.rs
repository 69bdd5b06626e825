//! One company whose endpoints are slow or dead takes nothing from another.

use portico::callers::Scope;
use portico::kernel::ids::CompanyId;
use reqwest::Method;
use serde_json::json;

use crate::support::World;
use crate::support::receiver::{Receiver, Reply};
use crate::support::waiting::until;

/// Another company, and an endpoint that it has subscribed to all events.
async fn neighbour(world: &World) -> (CompanyId, Receiver) {
    let (company, key) = world.another_company(&[Scope::Admin]).await;
    let receiver = world.endpoint("neighbour.test").await;
    let body = json!({ "url": receiver.url() });
    world.api(Method::POST, "/developers/int/v1/webhooks").key(&key).json(&body).send().await.ok(201);
    (company, receiver)
}

async fn in_flight_of(world: &World, company: CompanyId) -> i64 {
    sqlx::query_scalar("select count(*) from in_flight where company_id = $1").bind(company.uuid()).fetch_one(&world.pool).await.unwrap()
}

#[tokio::test]
async fn a_company_whose_endpoints_are_slow_leaves_permits_for_others() {
    const SLOW: usize = 4;
    let world =
        World::with(&[("webhooks.concurrency", "20"), ("webhooks.endpoint_concurrency", "20"), ("webhooks.poll_interval", "1h")]).await;
    for number in 0..SLOW {
        let slow = world.endpoint(&format!("slow{number}.test")).await;
        slow.will(std::iter::repeat_n(Reply::Silence, 40));
        world.subscribe(&slow, json!({ "timeout": 30 })).await;
    }
    let (other, prompt) = neighbour(&world).await;
    world.make_deliveries(30).await;
    world.state.webhooks.start_worker(&world.lifecycle);
    until("the slow ones have their share", async || in_flight_of(&world, world.company).await >= 16).await;
    for count in 1..=10 {
        world.publish_for(other, "order.created").await;
        prompt.waits_for(count).await;
    }
    assert_eq!(in_flight_of(&world, world.company).await, 16, "four times what is free");
}
