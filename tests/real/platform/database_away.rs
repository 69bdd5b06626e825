//! A database outage: 503 while it lasts, and automatic recovery afterwards.

use chrono::TimeDelta;
use reqwest::Method;

use crate::support::World;
use crate::support::customers::{EMAIL, token};
use crate::support::own_postgres::OwnPostgres;
use crate::support::waiting::until;

#[tokio::test]
async fn requests_are_answered_503_until_the_database_is_back() {
    let mut database = OwnPostgres::start().await;
    let world = World::on(&database.url(), &[]).await;
    let signed_in = token(&world.register(EMAIL).await);
    let me = || world.storefront_get("customers/me").token(&signed_in).send();
    me().await.ok(200);

    database.go_away().await;
    // Looked-up rows are cached for one second.
    world.pass(TimeDelta::seconds(1));
    for _ in 0..3 {
        me().await.refused(503, "database_unavailable");
    }
    world.request(Method::GET, "/healthz").send().await.ok(200);
    world.request(Method::GET, "/readyz").send().await.refused(503, "database_unavailable");

    database.come_back().await;
    until("requests are answered again", async || me().await.status == 200).await;
    until("it is ready again", async || world.request(Method::GET, "/readyz").send().await.status == 200).await;
    database.end(world).await;
}
