//! Clients that do as the documentation says: what is refused with 429 or 503 is sent again, with the same key, until it is acknowledged.

use std::pin::pin;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use futures::stream::{FuturesUnordered, StreamExt};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::{interval, sleep};
use tokio_util::sync::CancellationToken;

use crate::support::gateways::event;
use crate::support::receiver::{Receiver, event_ids};
use crate::support::waiting::{in_time, until};
use crate::support::{Answer, World};

/// The time between two clients. Each publishes an event and calls back about a payment of its own.
const PACE: Duration = Duration::from_millis(25);
/// No further client comes while so many are refused, however long a fault takes on a busy machine.
const MOST: usize = 200;
/// Shorter than what `Retry-After` asks for: some clients are in a hurry.
const PAUSE: Duration = Duration::from_millis(500);

/// So many clients are traffic: those of half a second, if nothing holds them up.
const SOME: i64 = 20;

/// The traffic of a drill.
#[derive(Default)]
pub struct Load {
    /// How many clients have come.
    came: AtomicI64,
    /// The number of the latest client that has been acknowledged everything.
    acknowledged: AtomicI64,
    is_over: CancellationToken,
}

impl Load {
    /// Waits until further clients have come, whatever they hear.
    pub async fn comes(&self) {
        self.rises(&self.came).await;
    }

    /// Waits until further clients have come and are acknowledged.
    pub async fn flows(&self) {
        self.rises(&self.acknowledged).await;
    }

    async fn rises(&self, number: &AtomicI64) {
        let enough = self.came.load(Ordering::Relaxed) + SOME;
        until("further clients have come", async || number.load(Ordering::Relaxed) >= enough).await;
    }

    async fn until_acknowledged(&self, world: &World, card: &Value) -> i64 {
        let (mut clients, mut arrivals) = (FuturesUnordered::new(), interval(PACE));
        loop {
            tokio::select! {
                _ = arrivals.tick(), if !self.is_over.is_cancelled() && clients.len() < MOST => {
                    let number = self.came.fetch_add(1, Ordering::Relaxed) + 1;
                    clients.push(async move {
                        tokio::join!(acknowledged(async || publish(world, number).await), call_back(world, card, number));
                        self.acknowledged.fetch_max(number, Ordering::Relaxed);
                    });
                }
                Some(()) = clients.next() => {}
                else => return self.came.load(Ordering::Relaxed),
            }
        }
    }
}

/// Lets clients come until `fault` is over, and returns how many there were when all that they sent is acknowledged.
pub async fn during(world: &World, card: &Value, fault: impl AsyncFnOnce(&Load)) -> i64 {
    let load = Load::default();
    let mut traffic = pin!(load.until_acknowledged(world, card));
    tokio::select! {
        () = fault(&load) => load.is_over.cancel(),
        _ = &mut traffic => unreachable!("clients come until the fault is over"),
    }
    in_time("everything is acknowledged", traffic).await
}

async fn publish(world: &World, number: i64) -> Answer {
    let sample = &world.state.developers.catalogue.find("driver.online").unwrap().sample;
    let body = json!({ "event": "driver.online", "data": sample, "idempotency_key": number.to_string() });
    world.developers(Method::POST, "events", body).await
}

async fn call_back(world: &World, card: &Value, number: i64) {
    let payment = json!({ "id": format!("pi_{number}"), "amount": 1000, "amount_received": 1000, "currency": "usd" });
    let callback = event(&format!("evt_{number}"), "payment_intent.succeeded", payment);
    acknowledged(async || world.call_back(card, &callback).await).await;
}

async fn acknowledged(send: impl AsyncFn() -> Answer) {
    loop {
        let answer = send().await;
        match answer.status {
            200 | 201 => return,
            429 | 503 => sleep(PAUSE).await,
            // A gateway signs a callback again each time: this one was signed before the clock was set.
            400 if answer.body["code"] == "callback_not_genuine" => {}
            _ => panic!("{answer:?}"),
        }
    }
}

/// Asserts that what so many clients sent is there, and there once.
pub async fn is_there_once(world: &World, clients: i64) {
    let counts = [
        "select count(*) from events where name = 'driver.online'",
        "select count(*) from callbacks where status <> 'refused'",
        "select count(*) from payments",
        "select count(*) from events where name = 'payment.succeeded'",
    ];
    for sql in counts {
        assert_eq!(world.count(sql).await, clients, "{sql}");
    }
}

/// Returns once every event of the story has arrived.
pub async fn everything_is_delivered(world: &World, receiver: &Receiver) {
    let published = world.count("select count(*) from events").await;
    until("everything is delivered", async || event_ids(&receiver.received()).len() as i64 == published).await;
}
