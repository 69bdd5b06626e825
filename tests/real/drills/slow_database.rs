//! Every answer of the database comes late: reliability, "The database goes away".

use std::time::Duration;

use portico::kernel::lifecycle::Lifecycle;
use reqwest::Method;
use serde_json::json;

use crate::drills::load;
use crate::support::World;
use crate::support::customers::{EMAIL, PASSWORD, login};
use crate::support::database;
use crate::support::proxy::Proxy;
use crate::support::waiting::until;

/// A hundred times what it takes within a data centre.
const SLOW: Duration = Duration::from_millis(100);
/// Longer than the story: an answer that somebody waits for never comes.
const FAR_TOO_SLOW: Duration = Duration::from_secs(600);

#[tokio::test]
async fn with_a_slow_database_everything_takes_longer_and_works() {
    let (proxy, url) = Proxy::of(&database::fresh().await);
    let world = World::on(&url, &[]).await;
    let card = world.card().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    let lifecycle = Lifecycle::default();
    world.state.webhooks.start_worker(&lifecycle);
    let clients = load::during(&world, &card, async |load| {
        proxy.delay_answers(SLOW);
        load.flows().await;
        login(&world, EMAIL, PASSWORD).await.ok(200);
        until("the instance is ready", async || world.request(Method::GET, "/readyz").send().await.status == 200).await;
        load.flows().await;
    })
    .await;
    load::everything_is_delivered(&world, &receiver).await;
    proxy.delay_answers(Duration::ZERO);
    load::is_there_once(&world, clients).await;
    // An attempt is logged, and its delivery closed, when its answer has come, in a batch.
    let published = world.count("select count(*) from events").await;
    let logged = async || world.count("select count(*) from attempts").await;
    until("every attempt is logged", async || logged().await >= published).await;
    assert_eq!(logged().await, published, "each was delivered at once");
    assert_eq!(world.count("select count(*) from deliveries where state = 'delivered' and attempts = 1").await, published);
    lifecycle.stop().await;
}

#[tokio::test]
async fn a_database_that_is_far_too_slow_is_not_waited_for() {
    let (proxy, url) = Proxy::of(&database::fresh().await);
    let world = World::on(&url, &[("database.acquire_timeout", "3s"), ("database.statement_timeout", "5s")]).await;
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    proxy.delay_answers(FAR_TOO_SLOW);
    for _ in 0..2 {
        // A request that waited to its own end would be told something else.
        login(&world, EMAIL, PASSWORD).await.refused(503, "database_unavailable");
        world.request(Method::GET, "/healthz").send().await.ok(200);
    }
    proxy.delay_answers(Duration::ZERO);
    login(&world, EMAIL, PASSWORD).await.ok(200);
}
