//! Clients that do as the documentation says: what is refused with 429 or 503 is sent again, with the same key, until it is acknowledged.

use std::time::Duration;

use futures::stream::{FuturesUnordered, StreamExt};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::{interval, sleep};
use tokio_util::sync::CancellationToken;

use crate::support::gateways::event;
use crate::support::receiver::{Receiver, event_ids};
use crate::support::waiting::until;
use crate::support::{Answer, World};

/// The time between two clients. Each publishes an event and calls back about a payment of its own.
const PACE: Duration = Duration::from_millis(25);
/// No further client comes while so many are refused, however long a fault takes on a busy machine.
const MOST: usize = 200;
/// Shorter than what `Retry-After` asks for: some clients are in a hurry.
const PAUSE: Duration = Duration::from_millis(500);

/// Lets clients come until it is told to stop, and returns how many there were when all that they sent is acknowledged.
pub async fn until_acknowledged(world: &World, card: &Value, stop: &CancellationToken) -> i64 {
    let (mut clients, mut arrivals, mut number) = (FuturesUnordered::new(), interval(PACE), 0);
    loop {
        tokio::select! {
            _ = arrivals.tick(), if !stop.is_cancelled() && clients.len() < MOST => {
                number += 1;
                clients.push(async move { tokio::join!(acknowledged(async || publish(world, number).await), call_back(world, card, number)) });
            }
            Some(_) = clients.next() => {}
            else => return number,
        }
    }
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
