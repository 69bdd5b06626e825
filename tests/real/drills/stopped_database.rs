//! PostgreSQL stops answering, and goes on later with what it has got meanwhile: reliability, "The database goes away".

use std::time::Duration;

use chrono::TimeDelta;
use futures::future::join_all;
use portico::kernel::lifecycle::Lifecycle;
use reqwest::Method;
use serde_json::json;
use tokio::time::sleep;

use crate::drills::load;
use crate::support::World;
use crate::support::own_postgres::OwnPostgres;
use crate::support::waiting::{in_time, until};

/// The health checks of a standstill, and the pause after each. Together they last longer than any statement is waited for.
const CHECKS: usize = 50;
const PAUSE: Duration = Duration::from_millis(200);

#[tokio::test]
async fn what_is_repeated_while_the_database_stands_still_takes_effect_once_and_nothing_is_lost() {
    let database = OwnPostgres::start().await;
    let world = World::on(&database.url(), &[("database.acquire_timeout", "3s"), ("database.statement_timeout", "5s")]).await;
    let card = world.card().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    let lifecycle = Lifecycle::default();
    world.state.webhooks.start_worker(&lifecycle);
    let clients = load::during(&world, &card, async |load| {
        load.flows().await;
        let standstill = database.freeze();
        // If each of them waited for the database, for three seconds at least, they would take longer than anybody waits for them.
        let checks = async {
            for _ in 0..CHECKS {
                world.request(Method::GET, "/healthz").send().await.ok(200);
                sleep(PAUSE).await;
            }
        };
        in_time("the instance is found alive", checks).await;
        drop(standstill);
    })
    .await;
    load::is_there_once(&world, clients).await;
    // What a statement took into flight whose answer never came is sent when its lease has ended.
    world.pass(TimeDelta::seconds(60));
    load::everything_is_delivered(&world, &receiver).await;
    lifecycle.stop().await;
    database.end(world).await;
}

#[tokio::test]
async fn what_was_refused_while_the_database_stood_still_is_not_published_afterwards() {
    let database = OwnPostgres::start().await;
    let world = World::on(&database.url(), &[]).await;
    let sample = &world.state.developers.catalogue.find("driver.online").unwrap().sample;
    let publish = async || world.developers(Method::POST, "events", json!({ "event": "driver.online", "data": sample })).await;
    // What these leave behind are connections that nobody asks first whether they are there: the server gets statements that it does not
    // read before it goes on.
    for _ in 0..3 {
        publish().await.ok(201);
    }
    let standstill = database.freeze();
    for answer in join_all((0..24).map(|_| publish())).await {
        assert_eq!(answer.status, 503, "{answer:?}");
    }
    drop(standstill);
    until("events can be published again", async || publish().await.status == 201).await;
    // Whatever the server still had to read it has read before it answered on a new connection, or reads it now.
    sleep(Duration::from_millis(500)).await;
    assert_eq!(world.count("select count(*) from events where name = 'driver.online'").await, 4);
    database.end(world).await;
}
