//! The disk of the database is full for a while: reliability, "The database goes away".

use portico::kernel::lifecycle::Lifecycle;
use reqwest::Method;
use serde_json::json;

use crate::drills::load;
use crate::support::World;
use crate::support::own_postgres::OwnPostgres;
use crate::support::small_disk::SmallDisk;
use crate::support::waiting::until;

#[tokio::test]
#[expect(clippy::print_stderr, reason = "what is not drilled is said")]
async fn while_the_disk_is_full_readiness_says_so_and_with_room_everything_works_again() {
    let Some(disk) = SmallDisk::mount() else {
        eprintln!("not drilled: only root can mount a small disk");
        return;
    };
    let database = OwnPostgres::start().await;
    database.move_to(disk.path()).await;
    let world = World::on(&database.url(), &[]).await;
    let card = world.card().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    let lifecycle = Lifecycle::default();
    world.state.webhooks.start_worker(&lifecycle);
    let ready = async || world.request(Method::GET, "/readyz").send().await;
    ready().await.ok(200);
    let places = json!({ "payload": { "pickup": "1 Mill Lane", "dropoff": "2 High Street" } });
    let order = async || world.api(Method::POST, "/fleet/int/v1/orders").json(&places).send().await;

    let clients = load::during(&world, &card, async |load| {
        load.flows().await;
        disk.fill();
        // Busy with that, the machine may be late for a check, which is another reason.
        until("readiness says so", async || {
            let answer = ready().await;
            answer.status == 503 && answer.body["detail"].as_str().unwrap().contains("disk")
        })
        .await;
        // Pages that are there already still take rows for a while.
        until("orders are refused", async || order().await.body["code"] == "database_unavailable").await;
        world.request(Method::GET, "/healthz").send().await.ok(200);
        disk.make_room();
        until("it is ready again", async || ready().await.status == 200).await;
    })
    .await;
    load::is_there_once(&world, clients).await;
    load::everything_is_delivered(&world, &receiver).await;
    lifecycle.stop().await;
    database.end(world).await;
}
