//! An instance is killed while it answers requests and has deliveries in flight: reliability, "A worker dies".

use std::iter;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use futures::future::join_all;
use portico::kernel::ids::EventId;
use reqwest::Client;
use serde_json::{Value, json};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::support::World;
use crate::support::program::Service;
use crate::support::receiver::{Reply, authority, event_ids};
use crate::support::waiting::{in_time, until};

/// The deliveries that are in flight when it is killed.
const HELD: usize = 20;
/// The leases of these, which are the oldest, end minutes after the story.
const LONGER_LEASES: &str = "update in_flight set claimed_at = claimed_at + interval '4 minutes'
                             where id in (select id from in_flight order by claimed_at limit 20)";
/// Clients that each publish one event after the other.
const CLIENTS: usize = 4;
/// So many events are traffic.
const SOME: i64 = 12;

/// Those of an instance beside the world's own.
fn settings(world: &World) -> [(&str, &str); 4] {
    [
        ("database.url", world.database.as_str()),
        ("application_key", world.application_key_setting.as_str()),
        ("webhooks.allowed_networks", "127.0.0.0/8"),
        ("webhooks.extra_root_certificates", authority().certificate_path().to_str().unwrap()),
    ]
}

#[tokio::test]
async fn what_was_in_flight_since_it_was_published_arrives_when_its_instance_is_killed() {
    let world = World::new().await;
    world.note_the_outbox().await;
    let receiver = world.endpoint("localhost").await;
    let settings = settings(&world);
    let killed = Service::start_with(&[], &settings).await;
    let (http, url) = (Client::builder().no_proxy().build().unwrap(), format!("http://{}/developers/int/v1/events", killed.address));
    let publish = async |name: &str| -> EventId {
        let answer = http.post(&url).bearer_auth(&world.api_key).json(&world.sample_of(name)).send().await.unwrap();
        assert_eq!(answer.status(), 201);
        answer.json::<Value>().await.unwrap()["event"]["id"].as_str().unwrap().parse().unwrap()
    };
    until("an event is fanned out by the statement that publishes it", async || {
        let event = publish("driver.offline").await;
        !world.was_in_the_outbox(event).await
    })
    .await;
    world.subscribe(&receiver, json!({ "events": ["driver.online"], "timeout": 30 })).await;
    let answered = CancellationToken::new();
    receiver.will([Reply::When(answered.clone())]);
    let event = publish("driver.online").await;
    receiver.waits_for(1).await;
    assert!(!world.was_in_the_outbox(event).await);

    let survivor = Service::start_with(&[], &settings).await;
    sqlx::query(LONGER_LEASES).execute(&world.pool).await.unwrap();
    killed.kill().await;
    receiver.waits_for(2).await;
    let delivered = async || world.count("select count(*) from deliveries where state = 'delivered' and attempts = 2").await == 1;
    until("it is delivered", delivered).await;
    assert_eq!(receiver.headers("webhook-id"), [event.to_string(), event.to_string()]);
    assert_eq!(world.count("select count(*) from attempts where error = 'interrupted'").await, 1);
    answered.cancel();
    drop(survivor);
}

#[tokio::test]
async fn what_a_killed_instance_had_in_flight_arrives_before_its_lease_ends_and_nothing_acknowledged_is_lost() {
    let world = World::new().await;
    let receiver = world.endpoint("localhost").await;
    world.subscribe(&receiver, json!({ "events": ["driver.online"], "timeout": 30 })).await;
    let answered = CancellationToken::new();
    receiver.will(iter::repeat_n(Reply::When(answered.clone()), HELD));
    let settings = settings(&world);
    let killed = Service::start_with(&[], &settings).await;
    let sample = world.state.developers.catalogue.find("driver.online").unwrap().sample.clone();
    let shop = Shop {
        instances: Mutex::new(vec![killed.address]),
        key: world.api_key.clone(),
        sample: sample.into(),
        acknowledged: AtomicI64::new(0),
        done: CancellationToken::new(),
    };

    let fault = async {
        receiver.waits_for(HELD).await;
        let survivor = Service::start_with(&[], &settings).await;
        shop.instances.lock().unwrap().push(survivor.address);
        shop.goes_on().await;
        // What is held comes back because its worker gives no sign of life, or not as long as the story lasts.
        sqlx::query(LONGER_LEASES).execute(&world.pool).await.unwrap();
        killed.kill().await;
        answered.cancel();
        shop.goes_on().await;
        shop.done.cancel();
        survivor
    };
    let clients = join_all((0..CLIENTS).map(|client| shop.publish(client)));
    let (acknowledged, survivor) =
        in_time("everything is acknowledged by the other instance", async { tokio::join!(clients, fault) }).await;
    let published: i64 = acknowledged.into_iter().sum();
    // Some have arrived already, but nobody knows that who lives.
    let delivered = async || world.count("select count(*) from deliveries where state = 'delivered'").await;
    until("everything is delivered again", async || delivered().await == published).await;
    let interrupted = world.count("select count(*) from attempts where error = 'interrupted'").await;
    assert!(interrupted >= HELD as i64, "{interrupted} attempts were interrupted");
    assert_eq!(world.count("select count(*) from events where name = 'driver.online'").await, published);
    assert_eq!(event_ids(&receiver.received()).len() as i64, published);
    drop(survivor);
}

/// The systems of a company, and the proxy before the instances.
struct Shop {
    instances: Mutex<Vec<SocketAddr>>,
    key: String,
    sample: Value,
    acknowledged: AtomicI64,
    done: CancellationToken,
}

impl Shop {
    /// Waits until further events are acknowledged.
    async fn goes_on(&self) {
        let enough = self.acknowledged.load(Ordering::Relaxed) + SOME;
        until("further events are acknowledged", async || self.acknowledged.load(Ordering::Relaxed) >= enough).await;
    }

    /// Publishes one event after the other until it is told to stop; returns how many were acknowledged. What gets no answer is sent
    /// again to the next instance, with the same key, also when it is told to stop: it may be published.
    async fn publish(&self, client: usize) -> i64 {
        let (http, mut acknowledged, mut is_answered) = (Client::builder().no_proxy().build().unwrap(), 0, true);
        while !self.done.is_cancelled() || !is_answered {
            let body = json!({ "event": "driver.online", "data": self.sample, "idempotency_key": format!("{client}-{acknowledged}") });
            let url = format!("http://{}/developers/int/v1/events", self.next());
            let answer = http.post(url).bearer_auth(&self.key).json(&body).send().await;
            is_answered = answer.is_ok();
            match answer {
                Ok(answer) => {
                    assert!([200, 201].contains(&answer.status().as_u16()), "{answer:?}");
                    acknowledged += 1;
                    self.acknowledged.fetch_add(1, Ordering::Relaxed);
                }
                Err(_) => sleep(Duration::from_millis(10)).await,
            }
            sleep(Duration::from_millis(5)).await;
        }
        acknowledged
    }

    fn next(&self) -> SocketAddr {
        let mut instances = self.instances.lock().unwrap();
        instances.rotate_left(1);
        instances[0]
    }
}
