//! The clock of the database is set while the service works: reliability, "The database fails over".

use chrono::TimeDelta;
use portico::kernel::lifecycle::Lifecycle;
use serde_json::json;

use crate::drills::load;
use crate::support::World;
use crate::support::customers::{EMAIL, PASSWORD, login};

#[tokio::test]
async fn a_clock_that_is_set_forward_and_back_loses_nothing() {
    let world = World::with(&[("webhooks.poll_interval", "100ms")]).await;
    let card = world.card().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    let lifecycle = Lifecycle::default();
    // Both see the step, with their own deliveries in flight.
    let there = world.another_instance();
    for instance in [&world, &there] {
        instance.state.webhooks.start_worker(&lifecycle);
    }
    let clients = load::during(&world, &card, async |load| {
        for step in [TimeDelta::hours(2), TimeDelta::hours(-2), TimeDelta::hours(-2)] {
            load.flows().await;
            world.pass(step);
            login(&world, EMAIL, PASSWORD).await.ok(200);
        }
        load.flows().await;
    })
    .await;
    load::is_there_once(&world, clients).await;
    // What was to be repeated at a time of before the clock was set back waits until it is that time again.
    world.pass(TimeDelta::hours(4));
    load::everything_is_delivered(&world, &receiver).await;
    lifecycle.stop().await;
}
