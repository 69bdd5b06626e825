//! The network swallows the connections to the database without closing them, as after the loss of a virtual machine: reliability,
//! "The database goes away silently".

use std::time::{Duration, Instant};

use portico::kernel::lifecycle::Lifecycle;
use reqwest::Method;
use serde_json::json;
use sqlx::Executor;
use tokio::time::timeout;

use crate::support::World;
use crate::support::customers::{EMAIL, PASSWORD, login};
use crate::support::database;
use crate::support::gateways::paid;
use crate::support::proxy::Proxy;
use crate::support::waiting::until;

/// The time in which everything must work again.
const RECOVERY: Duration = Duration::from_secs(10);

#[tokio::test]
async fn when_established_connections_are_swallowed_everything_works_again_within_ten_seconds() {
    let (proxy, url) = Proxy::of(&database::fresh().await);
    let world = World::on(&url, &[]).await;
    let card = world.card().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    let lifecycle = Lifecycle::default();
    world.state.webhooks.start_worker(&lifecycle);
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    let mut sent = 0;
    let mut call_back = async || {
        sent += 1;
        world.call_back(&card, &paid(&format!("evt_{sent}"))).await.status
    };
    assert_eq!(call_back().await, 200);
    let sample = &world.state.developers.catalogue.find("driver.online").unwrap().sample;
    let publish = async || world.developers(Method::POST, "events", json!({ "event": "driver.online", "data": sample })).await.status;
    assert_eq!(publish().await, 201);
    receiver.waits_for(1).await;

    proxy.swallow_established();
    let lost_at = Instant::now();
    let sign_in = async {
        until("somebody signs in again", async || login(&world, EMAIL, PASSWORD).await.status == 200).await;
    };
    let callback = async {
        until("a callback is recorded again", async || call_back().await == 200).await;
    };
    let publishing = async {
        until("an event is published and delivered again", async || {
            let before = receiver.received().len();
            publish().await == 201 && timeout(Duration::from_secs(1), receiver.waits_for(before + 1)).await.is_ok()
        })
        .await;
    };
    tokio::join!(sign_in, callback, publishing);
    assert!(lost_at.elapsed() < RECOVERY, "{:?}", lost_at.elapsed());
    lifecycle.stop().await;
}

#[tokio::test]
async fn what_a_vanished_instance_held_is_free_within_ten_seconds() {
    let direct = database::fresh().await;
    let (proxy, url) = Proxy::of(&direct);
    let world = World::on(&url, &[]).await;
    let survivor = database::pool(&direct);
    let mut held = world.pool.begin().await.unwrap();
    held.execute("update companies set name = 'Held'").await.unwrap();

    proxy.swallow_established();
    let lost_at = Instant::now();
    survivor.execute("update companies set name = 'Free'").await.unwrap();
    assert!(lost_at.elapsed() < RECOVERY, "{:?}", lost_at.elapsed());
    let open: i64 = sqlx::query_scalar(
        "select count(*) from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'",
    )
    .fetch_one(&survivor)
    .await
    .unwrap();
    assert_eq!(open, 0, "event streams wait for open transactions");
    assert!(held.commit().await.is_err());
}
