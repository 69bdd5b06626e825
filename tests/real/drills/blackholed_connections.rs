//! The network swallows the connections to the database without closing them, as after the loss of a virtual machine: reliability,
//! "The database goes away silently".

use portico::kernel::lifecycle::Lifecycle;
use reqwest::Method;
use serde_json::json;
use sqlx::Executor;

use crate::support::customers::{EMAIL, PASSWORD, login};
use crate::support::gateways::paid;
use crate::support::proxy::Proxy;
use crate::support::waiting::{in_time, until};
use crate::support::{Answer, World, database};

/// Whether a request has succeeded. One that was refused has waited for the deadline of a statement, which is a second later than at the
/// server. Without it, it would have waited for the end of its own time, which is told in another word.
#[track_caller]
fn succeeds(answer: &Answer, status: u16) -> bool {
    assert_ne!(answer.body["code"], "overloaded", "{answer:?}");
    answer.status == status
}

#[tokio::test]
async fn when_established_connections_are_swallowed_everything_works_again_after_the_deadline_of_a_statement() {
    let (proxy, url) = Proxy::of(&database::fresh().await);
    let world = World::on(&url, &[("database.statement_timeout", "5s")]).await;
    let card = world.card().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    let lifecycle = Lifecycle::default();
    world.state.webhooks.start_worker(&lifecycle);
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    let mut sent = 0;
    let mut call_back = async || {
        sent += 1;
        world.call_back(&card, &paid(&format!("evt_{sent}"))).await
    };
    call_back().await.ok(200);
    let sample = &world.state.developers.catalogue.find("driver.online").unwrap().sample;
    let publish = async || world.developers(Method::POST, "events", json!({ "event": "driver.online", "data": sample })).await;
    publish().await.ok(201);
    receiver.waits_for(1).await;

    proxy.swallow_established();
    let sign_in = async {
        until("somebody signs in again", async || succeeds(&login(&world, EMAIL, PASSWORD).await, 200)).await;
    };
    let callback = async {
        until("a callback is recorded again", async || succeeds(&call_back().await, 200)).await;
    };
    let publishing = async {
        let before = receiver.count();
        until("an event is published again", async || succeeds(&publish().await, 201)).await;
        receiver.waits_for(before + 1).await;
    };
    tokio::join!(sign_in, callback, publishing);
    lifecycle.stop().await;
}

#[tokio::test]
async fn what_a_vanished_instance_held_is_free_when_its_transaction_has_been_idle_for_five_seconds() {
    let direct = database::fresh().await;
    let (proxy, url) = Proxy::of(&direct);
    let world = World::on(&url, &[]).await;
    let survivor = database::pool(&direct);
    let idle: String = sqlx::query_scalar("show idle_in_transaction_session_timeout").fetch_one(&world.pool).await.unwrap();
    assert_eq!(idle, "5s");
    let mut held = world.pool.begin().await.unwrap();
    held.execute("update companies set name = 'Held'").await.unwrap();

    proxy.swallow_established();
    // Nothing else ends the transaction: its connection stays open.
    in_time("the row is free", survivor.execute("update companies set name = 'Free'")).await.unwrap();
    // A session gives back its locks before it is gone.
    let sql = "select count(*) from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'";
    let open = async || sqlx::query_scalar::<_, i64>(sql).fetch_one(&survivor).await.unwrap();
    until("no transaction is open any more", async || open().await == 0).await;
    assert!(held.commit().await.is_err());
}
