//! The primary fails and its standby is promoted: reliability, "The database fails over".

use chrono::TimeDelta;
use portico::kernel::lifecycle::Lifecycle;
use serde_json::json;
use sqlx::Executor;

use crate::drills::load;
use crate::support::World;
use crate::support::customers::{EMAIL, PASSWORD, login};
use crate::support::own_postgres::OwnPostgres;
use crate::support::waiting::until;

#[tokio::test]
async fn after_a_failover_to_a_synchronous_standby_nothing_acknowledged_is_lost() {
    let (mut primary, standby) = OwnPostgres::start_pair().await;
    let world = World::on(&OwnPostgres::url_of_either(&primary, &standby), &[]).await;
    let card = world.card().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    let lifecycle = Lifecycle::default();
    world.state.webhooks.start_worker(&lifecycle);
    let clients = load::during(&world, &card, async |load| {
        load.flows().await;
        primary.crash().await;
        standby.promote().await;
        // The clients of before the failover do not end the load: others come after it.
        load.flows().await;
    })
    .await;
    load::is_there_once(&world, clients).await;
    assert_eq!(login(&world, EMAIL, PASSWORD).await.status, 200);
    // Moves of deliveries are not waited for: those of the last moments may be made again after their lease.
    world.pass(TimeDelta::seconds(60));
    load::everything_is_delivered(&world, &receiver).await;
    lifecycle.stop().await;
    standby.end(world).await;
}

#[tokio::test]
async fn a_server_that_becomes_read_only_is_unavailable_until_it_is_writable() {
    let database = OwnPostgres::start().await;
    let world = World::on(&database.url(), &[]).await;
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    let mut administrator = database.connect().await;
    administrator.execute("alter system set default_transaction_read_only = on").await.unwrap();
    administrator.execute("select pg_reload_conf()").await.unwrap();
    // Each session learns of it by itself.
    until("the server refuses to write", async || {
        let answer = login(&world, EMAIL, PASSWORD).await;
        answer.status == 503 && answer.body["code"] == "database_unavailable"
    })
    .await;
    administrator.execute("set default_transaction_read_only = off").await.unwrap();
    administrator.execute("alter system reset default_transaction_read_only").await.unwrap();
    administrator.execute("select pg_reload_conf()").await.unwrap();
    until("the server writes again", async || login(&world, EMAIL, PASSWORD).await.status == 200).await;
    drop(administrator);
    database.end(world).await;
}
