//! Nobody listens where the database was: reliability, "The database goes away".

use reqwest::Method;
use serde_json::json;

use crate::support::World;
use crate::support::customers::{EMAIL, PASSWORD, login};
use crate::support::gateways::paid;
use crate::support::own_postgres::OwnPostgres;
use crate::support::waiting::in_time;

#[tokio::test]
async fn while_connections_are_refused_every_caller_hears_so_and_waits_for_none() {
    let mut database = OwnPostgres::start().await;
    // Whoever waited for a connection would wait for longer than the story.
    let world = World::on(&database.url(), &[("database.acquire_timeout", "10m")]).await;
    let card = world.card().await;
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    let sample = &world.state.developers.catalogue.find("driver.online").unwrap().sample;
    let callback = paid("evt_1");
    database.go_away().await;
    for _ in 0..3 {
        let asked = async {
            tokio::join!(
                world.call_back(&card, &callback),
                world.developers(Method::POST, "events", json!({ "event": "driver.online", "data": sample })),
                login(&world, EMAIL, PASSWORD),
            )
        };
        let (recorded, published, signed_in) = in_time("every caller hears so", asked).await;
        for answer in [recorded, published, signed_in] {
            answer.refused(503, "database_unavailable");
        }
    }
    database.come_back().await;
    database.end(world).await;
}
