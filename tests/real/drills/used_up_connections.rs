//! Somebody else has all connections of PostgreSQL: reliability, "The database goes away".

use portico::kernel::lifecycle::Lifecycle;
use reqwest::Method;
use serde_json::json;
use sqlx::{Connection, PgConnection};

use crate::drills::load;
use crate::support::World;
use crate::support::customers::{EMAIL, PASSWORD, login};
use crate::support::own_postgres::OwnPostgres;
use crate::support::waiting::{in_time, until};

/// Opens connections until the server has no more.
async fn use_up(url: &str) -> Vec<PgConnection> {
    let mut all = Vec::new();
    loop {
        match PgConnection::connect(url).await {
            Ok(conn) => all.push(conn),
            Err(error) => {
                assert_eq!(error.as_database_error().and_then(|error| error.code()).as_deref(), Some("53300"), "{error}");
                return all;
            }
        }
    }
}

#[tokio::test]
async fn while_somebody_else_has_all_connections_callers_hear_so_and_nothing_is_lost() {
    let database = OwnPostgres::start().await;
    let world = World::on(&database.url(), &[]).await;
    let card = world.card().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    let lifecycle = Lifecycle::default();
    world.state.webhooks.start_worker(&lifecycle);

    let mut newcomers = Vec::new();
    let clients = load::during(&world, &card, async |load| {
        load.flows().await;
        let mut taken = Vec::new();
        let asked = async {
            loop {
                taken.extend(use_up(&database.url()).await);
                // An instance that has no connections yet. Whoever waited for one there would wait for longer than the story.
                newcomers.push(world.reconfigured("", &[("database.acquire_timeout", "10m")]));
                let newcomer = newcomers.last().unwrap();
                let answers = [login(newcomer, EMAIL, PASSWORD).await, newcomer.request(Method::GET, "/readyz").send().await];
                newcomer.request(Method::GET, "/healthz").send().await.ok(200);
                // Housekeeping closes its session when it ends, as at the start of a worker: the newcomer may have got the place.
                if answers.iter().all(|answer| answer.status != 200) {
                    return answers.map(|answer| answer.refused(503, "database_unavailable"));
                }
            }
        };
        in_time("callers hear so", asked).await;
        load.comes().await;
        drop(taken);
        until("the newcomer signs somebody in", async || login(newcomers.last().unwrap(), EMAIL, PASSWORD).await.status == 200).await;
    })
    .await;
    load::is_there_once(&world, clients).await;
    load::everything_is_delivered(&world, &receiver).await;
    lifecycle.stop().await;
    drop(newcomers);
    database.end(world).await;
}
