//! Steps that webhook stories share: endpoints, subscriptions, events, deliveries.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::repeat_n;

use chrono::TimeDelta;
use portico::events::{self, NewEvent};
use portico::kernel::ids::{CompanyId, EventId, OrderId};
use portico::webhooks::Claimed;
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::receiver::{Receiver, Reply};
use crate::support::waiting::until;
use crate::support::{Answer, World};

impl World {
    /// Starts an endpoint, to which `name` resolves.
    pub async fn endpoint(&self, name: &str) -> Receiver {
        self.resolver.insert(name, &["127.0.0.1".parse().unwrap()]);
        Receiver::start(name, Some(name)).await
    }

    /// Subscribes an endpoint; returns the webhook with its secret.
    pub async fn subscribe(&self, receiver: &Receiver, more: Value) -> Value {
        let mut body = json!({ "url": receiver.url() });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.api(Method::POST, "/developers/int/v1/webhooks").json(&body).send().await.ok(201)["webhook"].take()
    }

    /// Endpoints that never answer, whose webhooks wait long for them.
    pub async fn silent_subscribers(&self, count: usize) {
        for number in 0..count {
            let receiver = self.endpoint(&format!("silent{number}.test")).await;
            receiver.will(repeat_n(Reply::Silence, 40));
            self.subscribe(&receiver, json!({ "timeout": 30 })).await;
        }
    }

    /// An endpoint that subscribes to all events.
    pub async fn subscriber(&self, name: &str) -> (Receiver, Value) {
        let receiver = self.endpoint(name).await;
        let webhook = self.subscribe(&receiver, json!({})).await;
        (receiver, webhook)
    }

    /// An endpoint that subscribes to all events, in order.
    pub async fn subscriber_in_order(&self, name: &str) -> (Receiver, Value) {
        let receiver = self.endpoint(name).await;
        let webhook = self.subscribe(&receiver, json!({ "ordering": "resource" })).await;
        assert_eq!(webhook["ordering"], "resource");
        (receiver, webhook)
    }

    /// A request about webhooks, deliveries or events.
    pub async fn developers(&self, method: Method, path: &str, body: Value) -> Answer {
        self.api(method, &format!("/developers/int/v1/{path}")).json(&body).send().await
    }

    pub async fn get(&self, path: &str) -> Value {
        self.api(Method::GET, &format!("/developers/int/v1/{path}")).send().await.ok(200)
    }

    /// Publishes the sample of an event for the story's company.
    pub async fn publish(&self, name: &str) -> EventId {
        self.publish_for(self.company, name).await
    }

    pub async fn publish_for(&self, company: CompanyId, name: &str) -> EventId {
        self.publish_event(company, name, None).await
    }

    /// Publishes an event about a record.
    pub async fn publish_about(&self, subject: Uuid, name: &str) -> EventId {
        self.publish_event(self.company, name, Some(subject)).await
    }

    /// The id of a new record, which events can be about.
    pub fn new_record(&self) -> Uuid {
        OrderId::new(self.clock.now()).uuid()
    }

    /// Publishes this number of events; returns their ids.
    pub async fn publish_many(&self, count: usize) -> BTreeSet<String> {
        let mut published = BTreeSet::new();
        let batch: Vec<_> = (0..500).map(|_| self.new_event(self.company, "order.created", None)).collect();
        while published.len() < count {
            let batch = &batch[..batch.len().min(count - published.len())];
            let mut transaction = self.pool.begin().await.unwrap();
            let ids = events::publish_all(&mut transaction, batch, self.clock.now()).await.unwrap();
            transaction.commit().await.unwrap();
            published.extend(ids.iter().map(ToString::to_string));
        }
        published
    }

    async fn publish_event(&self, company: CompanyId, name: &str, subject: Option<Uuid>) -> EventId {
        let event = self.new_event(company, name, subject);
        let mut transaction = self.pool.begin().await.unwrap();
        let id = events::publish(&mut transaction, event, self.clock.now()).await.unwrap();
        transaction.commit().await.unwrap();
        id
    }

    /// The sample of an event.
    pub fn new_event(&self, company: CompanyId, name: &str, subject: Option<Uuid>) -> NewEvent {
        let mut data = self.state.developers.catalogue.find(name).unwrap().sample.clone();
        data["meta"] = json!({ "note": "ünïcode ☂" });
        NewEvent { company, name: name.parse().unwrap(), subject, owner: None, request: None, trace: None, data: data.into() }
    }

    /// Publishes an event whose delivery fails permanently.
    pub async fn fail(&self, receiver: &Receiver, event: &str) -> Value {
        // A circuit that earlier failures opened is half-open by then.
        self.pass(TimeDelta::hours(1));
        receiver.will(std::iter::repeat_n(Reply::status(500), 5));
        self.publish(event).await;
        self.deliver().await;
        for wait in [5, 30, 120, 480] {
            self.pass(TimeDelta::minutes(wait));
            self.deliver().await;
        }
        let delivery = self.last_delivery().await;
        assert_eq!(delivery["status"], "failed");
        delivery
    }

    /// Makes the deliveries of all published events.
    pub async fn fan_out(&self) {
        until("all events are fanned out", async || self.state.webhooks.fan_out().await.unwrap() == 0).await;
    }

    /// Publishes this number of events and makes their deliveries.
    pub async fn make_deliveries(&self, count: usize) {
        self.publish_many(count).await;
        self.fan_out().await;
    }

    /// Claims all deliveries that can be claimed.
    pub async fn claim(&self) -> Vec<Claimed> {
        self.state.webhooks.claim(100).await.unwrap()
    }

    /// Closes all cancelled deliveries.
    pub async fn close_cancelled(&self) {
        until("all cancelled deliveries are closed", async || !self.state.webhooks.close_cancelled().await.unwrap()).await;
    }

    /// Finishes all replays that no other instance is working on.
    pub async fn finish_replays(&self) {
        until("all replays are finished", async || !self.state.webhooks.continue_replays().await.unwrap()).await;
    }

    /// The sequence numbers of the events that arrived about each record, in order.
    pub async fn sequences_by_record(&self, receiver: &Receiver) -> BTreeMap<Uuid, Vec<i64>> {
        let published: Vec<(Uuid, Uuid)> = sqlx::query_as("select id, subject_id from events").fetch_all(&self.pool).await.unwrap();
        let about: BTreeMap<_, _> = published.into_iter().map(|(event, subject)| (EventId::from(event).to_string(), subject)).collect();
        let mut of_each = BTreeMap::<Uuid, Vec<i64>>::new();
        for post in receiver.received() {
            of_each.entry(about[post.header("webhook-id")]).or_default().push(post.header("x-service-sequence").parse().unwrap());
        }
        of_each
    }

    /// Runs the worker for everything that is due; returns the number of POSTs.
    pub async fn deliver(&self) -> usize {
        // What is being fanned out by itself at this moment would be passed over.
        if self.fans_out.is_completed() {
            self.everything_is_fanned_out().await;
        }
        self.state.webhooks.run_due().await.unwrap()
    }

    /// The newest delivery, with its attempts.
    pub async fn last_delivery(&self) -> Value {
        let list = self.get("deliveries?limit=1").await;
        let id = list["deliveries"][0]["id"].as_str().expect("there is a delivery");
        self.get(&format!("deliveries/{id}")).await["delivery"].take()
    }
}

/// Asserts that the last attempt of a delivery got no response and ended with `error`, and that it will be retried.
#[track_caller]
pub fn will_be_retried_after(delivery: &Value, error: &str) {
    assert_eq!((last_attempt(delivery), delivery["status"].as_str()), ((None, Some(error)), Some("retrying")), "{delivery}");
    assert!(delivery["next_attempt_at"].is_string());
}

/// Asserts that the last attempt of a delivery failed in TLS for this reason, and that it will be retried.
#[track_caller]
pub fn will_be_retried_after_tls(delivery: &Value, reason: &str) {
    will_be_retried_after(delivery, "tls");
    let attempt = delivery["attempts"].as_array().unwrap().last().unwrap();
    assert_eq!(attempt["reason"], reason, "{attempt}");
}

/// The status and the error of the last attempt of a delivery.
pub fn last_attempt(delivery: &Value) -> (Option<i64>, Option<&str>) {
    let attempt = delivery["attempts"].as_array().unwrap().last().expect("there was an attempt");
    (attempt["status"].as_i64(), attempt["error"].as_str())
}
