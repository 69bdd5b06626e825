//! An endpoint with a backlog gets its next deliveries when those before have ended, without a claim in between. It keeps to its
//! limits all the same, and nobody waits longer because of it.

use chrono::TimeDelta;
use reqwest::Method;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::World;
use crate::support::receiver::{Receiver, Reply};
use crate::support::waiting::until;

const BACKLOG: usize = 40;

/// A running worker that has a backlog for one endpoint, which responds when it is told to.
struct Backlog {
    world: World,
    webhook: Value,
    receiver: Receiver,
    at_once: usize,
    /// The responses, in the order of arrival.
    responses: Vec<CancellationToken>,
    given: usize,
}

impl Backlog {
    /// `at_once` is the concurrency of the endpoint and of the whole instance.
    async fn of(at_once: usize) -> Self {
        let limit = at_once.to_string();
        let world = World::with(&[
            ("webhooks.concurrency", &limit),
            ("webhooks.endpoint_concurrency", &limit),
            ("webhooks.circuit.opens_after", "3"),
            ("webhooks.poll_interval", "20ms"),
        ])
        .await;
        let receiver = world.endpoint("crowded.test").await;
        let webhook = world.subscribe(&receiver, json!({ "events": ["order.created"] })).await;
        let responses: Vec<_> = (0..BACKLOG).map(|_| CancellationToken::new()).collect();
        Self { world, webhook, receiver, at_once, responses, given: 0 }
    }

    /// Starts the worker, and waits until as many deliveries have arrived as there may be at once.
    async fn begin(&self) {
        let before = self.receiver.count();
        self.receiver.will(self.responses.iter().cloned().map(Reply::When));
        self.world.make_deliveries(BACKLOG).await;
        self.world.state.webhooks.start_worker(&self.world.lifecycle);
        self.receiver.waits_for(before + self.at_once).await;
    }

    /// Responds to the delivery that has waited longest, and waits until the next one has arrived.
    async fn respond(&mut self) {
        let before = self.receiver.count();
        self.responses[self.given].cancel();
        self.given += 1;
        if before < BACKLOG {
            self.receiver.waits_for(before + 1).await;
        }
    }
}

#[tokio::test]
async fn an_endpoint_with_a_backlog_has_as_many_in_flight_as_it_may_have_until_the_end() {
    let mut backlog = Backlog::of(3).await;
    backlog.begin().await;
    while backlog.given < BACKLOG {
        assert_eq!(backlog.receiver.count(), BACKLOG.min(backlog.given + 3));
        let counted = "select count(*) from endpoints where in_flight <= 3 and in_flight = (select count(*) from in_flight)";
        assert_eq!(backlog.world.count(counted).await, 1);
        backlog.respond().await;
    }
    until("all is recorded", async || backlog.world.count("select count(*) from in_flight").await == 0).await;
    assert_eq!(backlog.world.count("select count(*) from deliveries where state = 'delivered' and attempts = 1").await, BACKLOG as i64);
    assert_eq!(backlog.world.count("select sum(in_flight) from endpoints").await, 0);
}

#[tokio::test]
async fn the_statement_that_records_acknowledged_attempts_claims_the_next_ones_of_a_backlog() {
    let mut backlog = Backlog::of(3).await;
    let note_refills = "
        create table refilled (delivery uuid);
        create function note_refill() returns trigger language plpgsql as $$
        begin
            insert into refilled select new.id where current_query() like '%delete from in_flight%';
            return new;
        end $$;
        create trigger note_refill before insert on in_flight for each row execute function note_refill();";
    sqlx::raw_sql(note_refills).execute(&backlog.world.pool).await.unwrap();
    backlog.begin().await;
    while backlog.given < BACKLOG {
        backlog.respond().await;
    }
    assert!(backlog.world.count("select count(*) from refilled").await > 0);
}

#[tokio::test]
async fn an_endpoint_with_a_backlog_gives_its_place_to_another_one() {
    let mut backlog = Backlog::of(2).await;
    let prompt = backlog.world.endpoint("prompt.test").await;
    backlog.world.subscribe(&prompt, json!({ "events": ["driver.online"] })).await;
    backlog.begin().await;
    for _ in 0..5 {
        backlog.respond().await;
    }
    backlog.world.publish("driver.online").await;
    until("its delivery waits", async || backlog.world.count("select count(*) from waiting where event = 'driver.online'").await == 1)
        .await;
    while prompt.count() == 0 {
        backlog.respond().await;
        assert!(backlog.given < 30, "the other endpoint does not wait for the backlog");
    }
}

#[tokio::test]
async fn a_retry_is_made_amid_the_backlog_of_its_endpoint() {
    let mut backlog = Backlog::of(1).await;
    backlog.receiver.will([Reply::status(500)]);
    backlog.world.make_deliveries(1).await;
    assert_eq!(backlog.world.deliver().await, 1);
    backlog.begin().await;
    for _ in 0..5 {
        backlog.respond().await;
    }
    backlog.world.pass(TimeDelta::minutes(5));
    let is_retried = |receiver: &Receiver| receiver.received().iter().any(|received| received.header("x-service-attempt") == "2");
    while !is_retried(&backlog.receiver) {
        backlog.respond().await;
        assert!(backlog.given < 30, "the retry does not wait for the backlog");
    }
}

#[tokio::test]
async fn an_endpoint_that_fails_amid_its_backlog_is_left_alone() {
    let backlog = Backlog::of(1).await;
    backlog.receiver.will(std::iter::repeat_n(Reply::status(200), 6).chain(std::iter::repeat_n(Reply::status(500), 40)));
    backlog.world.make_deliveries(BACKLOG).await;
    backlog.world.state.webhooks.start_worker(&backlog.world.lifecycle);
    let open = "select count(*) from endpoints where open_until is not null and in_flight = 0";
    until("its circuit is open", async || backlog.world.count(open).await == 1).await;
    assert_eq!(backlog.receiver.count(), 6 + 3, "after three failures nothing more is sent");
    assert!(backlog.world.count("select count(*) from waiting where attempts = 0").await >= 30);
}

#[tokio::test]
async fn an_endpoint_that_is_disabled_amid_its_backlog_gets_nothing_more() {
    let mut backlog = Backlog::of(2).await;
    backlog.begin().await;
    for _ in 0..5 {
        backlog.respond().await;
    }
    let path = format!("webhooks/{}/disable", backlog.webhook["id"].as_str().unwrap());
    backlog.world.developers(Method::POST, &path, json!({})).await.ok(200);
    let sent = backlog.receiver.count();
    backlog.responses.iter().for_each(CancellationToken::cancel);
    until("nothing is in flight", async || backlog.world.count("select count(*) from in_flight").await == 0).await;
    until("the rest is cancelled", async || backlog.world.count("select count(*) from waiting").await == 0).await;
    assert_eq!(backlog.receiver.count(), sent);
}
