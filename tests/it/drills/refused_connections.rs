//! Nobody listens where the database was: reliability, "The database goes away".

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::json;

use crate::support::World;
use crate::support::customers::{EMAIL, PASSWORD, login};
use crate::support::gateways::paid;
use crate::support::own_postgres::OwnPostgres;

/// `database.acquire_timeout`
const PROMISED: Duration = Duration::from_secs(3);

#[tokio::test]
async fn while_connections_are_refused_every_caller_hears_so_within_three_seconds() {
    let mut database = OwnPostgres::start().await;
    let world = World::on(&database.url(), &[]).await;
    let card = world.card().await;
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    let sample = &world.state.developers.catalogue.find("driver.online").unwrap().sample;
    let callback = paid("evt_1");
    database.go_away().await;
    for _ in 0..3 {
        let asked = Instant::now();
        let (recorded, published, signed_in) = tokio::join!(
            world.call_back(&card, &callback),
            world.developers(Method::POST, "events", json!({ "event": "driver.online", "data": sample })),
            login(&world, EMAIL, PASSWORD),
        );
        for answer in [recorded, published, signed_in] {
            answer.refused(503, "database_unavailable");
        }
        assert!(asked.elapsed() < PROMISED, "{:?}", asked.elapsed());
    }
    database.come_back().await;
    database.end(world).await;
}
