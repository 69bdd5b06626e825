//! Preparing and observing the delivery hub: subscriptions, and events that wait for a worker.

use std::thread::sleep;
use std::time::{Duration, Instant};

use portico::app;
use portico::config::Config;
use portico::events::{self, CommitNotifier, NewEvent};
use portico::fleet::orders;
use portico::kernel::clock::Clock;
use portico::kernel::crypto::ApplicationKey;
use portico::kernel::database;
use portico::kernel::steps::Unfinished;
use portico::kernel::traces::Traces;
use portico::providers::mail::Mail;
use portico::webhooks::{self, Delivering, Resolver, Webhooks};
use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;

use super::calls::{Caller, request};
use super::company::Company;
use super::database::Database;
use super::service::Service;

/// The timeout of background work.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Subscribes every endpoint to an event, a group of events, or all events.
pub fn subscribe(service: &Service, urls: &[String], events: &str) {
    Company::demo(service).subscribe(service, urls, events, &json!({}));
}

/// The `data` of an event of typical length.
pub fn order(number: usize) -> Map<String, Value> {
    let order = json!({
        "id": "order_01h455vb4pex5vsknk084sn02q", "public_id": "order_01h455vb4pex5vsknk084sn02q",
        "uuid": "018948ad-9684-7773-99b2-8100859a0897", "internal_id": format!("A-{number:08}"), "status": "created", "type": "delivery",
        "payload": { "pickup": "1 Mill Lane", "dropoff": "2 High Street" }, "driver": null, "customer": null, "notes": null,
        "created_at": "2026-05-21T10:15:00.000+00:00", "updated_at": "2026-05-21T10:15:00.000+00:00", "meta": {}, "additionalData": {}
    });
    let Value::Object(members) = order else { unreachable!("an object was written") };
    members
}

/// Publishes this many events, as the service does.
pub fn publish(service: &Service, events: usize) {
    let company = service.demo.company;
    Database::of(service).with(async |conn| {
        let mut tx = conn.begin().await.unwrap();
        for number in 0..events {
            let event = NewEvent {
                company,
                name: orders::CREATED,
                subject: None,
                owner: None,
                request: None,
                trace: None,
                data: order(number).into(),
            };
            events::publish(&mut tx, event, Clock::System.now()).await.unwrap();
        }
        tx.commit().await.unwrap();
    });
}

/// Fans out every published event; all deliveries are then due. The service must run without a worker.
pub fn fan_out(service: &Service) {
    Statements::of(service).fan_out();
    Database::of(service).execute("vacuum analyze");
}

/// What a worker has the database do, in this process, for a service that runs without one.
pub struct Statements {
    runtime: Runtime,
    webhooks: Webhooks,
}

impl Statements {
    pub fn of(service: &Service) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let guard = runtime.enter();
        let config = Config::with(&[]).unwrap();
        let pool = database::pool(&service.database_url().parse().unwrap(), &config.database);
        // Nothing is signed here, so any key works.
        let key = ApplicationKey::parse(&ApplicationKey::generate()).unwrap();
        let parts = webhooks::Parts {
            pool,
            clock: Clock::System,
            key,
            delivering: Delivering::new(&config.webhooks, Resolver::system(), Clock::System, Traces::default()).unwrap(),
            settings: config.webhooks,
            catalogue: app::catalogue(),
            notifier: CommitNotifier::default(),
            mail: Mail::new(&config.mail, false, None).unwrap(),
        };
        let webhooks = Webhooks::new(parts);
        drop(guard);
        Self { runtime, webhooks }
    }

    /// Fans out every published event; returns how long it took.
    pub fn fan_out(&self) -> Duration {
        let begin = Instant::now();
        self.runtime.block_on(self.webhooks.fan_out()).unwrap();
        begin.elapsed()
    }

    /// Claims due deliveries, at most `limit`; returns how many, and how long it took.
    pub fn claim(&self, limit: usize) -> (usize, Duration) {
        let begin = Instant::now();
        let claimed = self.runtime.block_on(self.webhooks.claim(limit)).unwrap();
        (claimed.len(), begin.elapsed())
    }

    /// Drops the days that have expired, and creates those to come. It is put off while somebody reads them.
    pub fn keep_house(&self) -> Result<(), Unfinished> {
        self.runtime.block_on(self.webhooks.maintain_partitions())
    }
}

/// Waits until the log shows no delivery as pending.
pub fn await_recorded(service: &Service) {
    let (key, until) = (service.api_key(), Instant::now() + TIMEOUT);
    let pending = request("GET", "/developers/int/v1/deliveries?status=pending&limit=1", &[("authorization", &key)], "");
    let mut caller = Caller::connect(service.address);
    while !caller.ask(200, &pending)["deliveries"].as_array().unwrap().is_empty() {
        assert!(Instant::now() < until, "some deliveries are still pending");
        sleep(Duration::from_millis(20));
    }
}
