//! The names of one company's endpoints get no answer any more: reliability, "An endpoint misbehaves".

use chrono::TimeDelta;
use portico::callers::Scope;
use portico::kernel::lifecycle::Lifecycle;
use portico::webhooks::Resolver;
use reqwest::Method;
use serde_json::json;

use crate::support::World;
use crate::support::nameserver::Nameserver;
use crate::support::receiver::Receiver;
use crate::support::waiting::{in_time, until};

const DEAD: usize = 200;
/// First attempts that have not ended. An event that waits to be fanned out counts for all of its deliveries.
const UNDER_WAY: &str = "select (select count(*) from outbox) * 200 + (select count(*) from in_flight)
                         + (select count(*) from waiting where attempts = 0)";
/// First attempts that have begun, some of which have ended.
const BEGUN: &str = "select (select count(*) from in_flight) + (select count(*) from attempts)";

#[tokio::test]
async fn two_hundred_names_on_a_silent_nameserver_do_not_delay_another_company() {
    let server = Nameserver::start(0).await;
    let world = World::resolving_by(Resolver::asking(server.address)).await;
    for number in 0..DEAD {
        let webhook = json!({ "url": format!("https://shop-{number}.silent.test/"), "timeout": 30 });
        world.developers(Method::POST, "webhooks", webhook).await.ok(201);
    }
    let (neighbour, key) = world.another_company(&Scope::ALL).await;
    let receiver = Receiver::start("neighbour.test", Some("neighbour.test")).await;
    let webhook = world.request(Method::POST, "/developers/int/v1/webhooks").key(&key).json(&json!({ "url": receiver.url() }));
    webhook.send().await.ok(201);
    server.be_silent_about("silent.test");

    let lifecycle = Lifecycle::default();
    world.publish("order.created").await;
    world.state.webhooks.start_worker(&lifecycle);
    until("all deliveries of the first company have begun", async || world.count(BEGUN).await >= DEAD as i64).await;
    // Their look-ups end after five seconds, and then there are as many again.
    let pressing = async {
        loop {
            until("most of them have ended", async || world.count(UNDER_WAY).await < DEAD as i64 / 2).await;
            world.publish("order.created").await;
        }
    };
    // Behind such look-ups, twenty deliveries one after the other would take longer than anybody waits.
    let neighbours = async {
        for sent in 1..=20 {
            world.publish_for(neighbour, "order.created").await;
            receiver.waits_for(sent).await;
        }
    };
    tokio::select! {
        () = in_time("the neighbour's events have arrived", neighbours) => {}
        () = pressing => {}
    }
    lifecycle.stop().await;
    // Those that got no answer say so, and are tried again.
    world.pass(TimeDelta::minutes(1));
    assert!(world.count("select count(*) from attempts where error = 'dns'").await >= DEAD as i64);
    assert_eq!(world.count("select count(*) from attempts where error <> 'dns'").await, 0);
}
