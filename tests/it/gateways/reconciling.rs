//! Asking the card provider for callbacks that did not arrive: decisions, section 8, Reconciliation.

use chrono::TimeDelta;
use reqwest::Method;
use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use crate::support::World;
use crate::support::card_provider::{CardProvider, SECRET_KEY, header, refusal};
use crate::support::gateways::{SIGNING_SECRET, event, paid};

/// A world whose company has an account at the provider, from where callbacks come too.
async fn world(provider: &CardProvider) -> (World, Value) {
    let world = World::with(&[("providers.card.base_url", &provider.url())]).await;
    let body = json!({ "name": "Cards", "driver": "card", "secret_key": SECRET_KEY, "signing_secret": SIGNING_SECRET });
    let gateway = world.gateway(body).await;
    (world, gateway)
}

/// A payment of its own.
fn payment(number: usize) -> Value {
    let object = json!({ "id": format!("pi_{number}"), "amount": 1000, "amount_received": 1000, "currency": "usd" });
    event(&format!("evt_{number}"), "payment_intent.succeeded", object)
}

async fn reconcile(world: &World) -> usize {
    world.state.gateways.reconcile_due().await.unwrap()
}

/// The parameters of each request for events.
async fn questions(provider: &CardProvider) -> Vec<Vec<(String, String)>> {
    provider.requests("/v1/events").await.iter().map(|request| request.url.query_pairs().into_owned().collect()).collect()
}

fn parameter<'a>(question: &'a [(String, String)], name: &str) -> Option<&'a str> {
    question.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

#[tokio::test]
async fn a_callback_that_was_missed_counts_as_if_it_had_arrived() {
    let provider = CardProvider::start().await;
    let (world, gateway) = world(&provider).await;
    provider.has(paid("evt_1"), world.clock.now());
    assert_eq!(reconcile(&world).await, 1);
    assert_eq!((&world.payment().await["status"], &world.payment().await["amount"]), (&json!("succeeded"), &json!(1000)));
    let callback = world.last_callback().await;
    assert_eq!((&callback["status"], &callback["event_id"], &callback["gateway"]), (&json!("processed"), &json!("evt_1"), &gateway["id"]));
    assert_eq!(world.payment_event_names().await, ["payment.succeeded"]);

    assert_eq!(world.call_back(&gateway, &paid("evt_1")).await.ok(200)["message"], "Already processed.");
    assert_eq!(world.payment_event_names().await, ["payment.succeeded"]);
    let asked = provider.requests("/v1/events").await;
    assert_eq!(header(&asked[0], "authorization"), format!("Bearer {SECRET_KEY}"));
}

#[tokio::test]
async fn what_arrived_is_not_recorded_again() {
    let provider = CardProvider::start().await;
    let (world, gateway) = world(&provider).await;
    world.call_back(&gateway, &paid("evt_1")).await.ok(200);
    // The response was lost, so the provider believes that it did not arrive.
    provider.has(paid("evt_1"), world.clock.now());
    assert_eq!(reconcile(&world).await, 0);
    assert_eq!(world.count("select count(*) from callbacks").await, 1);
    assert_eq!(world.payment_event_names().await, ["payment.succeeded"]);
}

#[tokio::test]
async fn an_event_without_a_meaning_is_left_out_and_one_that_is_not_understood_does_not_hold_up_others() {
    let provider = CardProvider::start().await;
    let (world, _) = world(&provider).await;
    for event in [event("evt_a", "customer.created", json!({ "id": "cus_1" })), event("evt_b", "charge.refunded", json!({})), paid("evt_1")]
    {
        provider.has(event, world.clock.now());
    }
    reconcile(&world).await;
    assert_eq!(world.payment().await["status"], "succeeded");
    assert_eq!(world.count("select count(*) from callbacks where key = 'evt_b' and status = 'failed'").await, 1);
    assert_eq!(world.count("select count(*) from callbacks").await, 2);
}

#[tokio::test]
async fn all_pages_are_read_and_the_next_time_only_what_is_new() {
    let provider = CardProvider::start().await;
    let (world, _) = world(&provider).await;
    for number in 0..45 {
        provider.has(payment(number), world.clock.now());
    }
    assert_eq!(reconcile(&world).await, 45);
    let asked = questions(&provider).await;
    let positions: Vec<_> = asked.iter().map(|question| parameter(question, "starting_after")).collect();
    assert_eq!(positions, [None, Some("evt_25"), Some("evt_5")]);
    assert!(asked.iter().all(|question| parameter(question, "delivery_success") == Some("false")));

    assert_eq!(reconcile(&world).await, 0);
    assert_eq!(questions(&provider).await.len(), 3, "it is not due");
    let began = world.clock.now();
    world.pass(TimeDelta::minutes(10));
    provider.has(payment(45), world.clock.now());
    assert_eq!(reconcile(&world).await, 1);
    // The next pass reads on from the beginning of the one before, and an hour of what it has seen.
    world.pass(TimeDelta::hours(2));
    assert_eq!(reconcile(&world).await, 0);
    let since = questions(&provider).await.last().map(|question| parameter(question, "created[gte]").unwrap().to_owned());
    assert_eq!(since, Some((began + TimeDelta::minutes(10) - TimeDelta::hours(1)).timestamp().to_string()));
}

#[tokio::test]
async fn whoever_goes_on_after_an_error_or_a_restart_begins_where_it_was_interrupted() {
    let provider = CardProvider::start().await;
    let (world, _) = world(&provider).await;
    for number in 0..45 {
        provider.has(payment(number), world.clock.now());
    }
    // Each is asked twice before it counts: the second page fails.
    provider.answer_events_after_the_first([429, 429].map(|status| refusal(status, "rate_limit_error", json!({}))));
    assert_eq!(reconcile(&world).await, 20);
    assert_eq!(questions(&provider).await.len(), 3);

    let restarted = world.another_instance();
    assert_eq!(reconcile(&restarted).await, 0, "not before its time");
    world.pass(TimeDelta::minutes(10));
    assert_eq!(reconcile(&restarted).await, 25);
    assert_eq!(parameter(&questions(&provider).await[3], "starting_after"), Some("evt_25"));
    assert_eq!(world.count("select count(*) from payments").await, 45);
}

#[tokio::test]
async fn a_position_that_the_provider_has_forgotten_begins_the_pass_anew() {
    let provider = CardProvider::start().await;
    let (world, _) = world(&provider).await;
    for number in 0..25 {
        provider.has(payment(number), world.clock.now());
    }
    provider.answer_events_after_the_first([500, 500].map(ResponseTemplate::new));
    assert_eq!(reconcile(&world).await, 20);
    provider.forget("evt_5");
    world.pass(TimeDelta::minutes(10));
    assert_eq!(reconcile(&world).await, 0);
    world.pass(TimeDelta::minutes(10));
    assert_eq!(reconcile(&world).await, 5);
}

#[tokio::test]
async fn a_wrong_key_or_a_provider_that_fails_costs_one_interval_and_nothing_of_others() {
    let provider = CardProvider::start().await;
    let (world, _) = world(&provider).await;
    let (other, _) = world.another_company(&[]).await;
    world.card_gateway_with(other, "sk_test_revoked_long_ago").await;
    provider.has(paid("evt_1"), world.clock.now());
    assert_eq!(reconcile(&world).await, 1);
    assert_eq!(world.count("select count(*) from payments").await, 1);
    let asked = provider.requests("/v1/events").await.len();
    reconcile(&world).await;
    assert_eq!(provider.requests("/v1/events").await.len(), asked, "both wait for their time");
}

#[tokio::test]
async fn a_gateway_that_is_inactive_or_of_another_driver_is_not_asked_and_nobody_is_without_the_setting() {
    let provider = CardProvider::start().await;
    let (world, gateway) = world(&provider).await;
    world.gateway(json!({ "name": "Cash", "driver": "manual" })).await;
    provider.has(paid("evt_1"), world.clock.now());
    let off = world.reconfigured("", &[("providers.card.base_url", &provider.url()), ("gateways.reconcile_every", "")]);
    assert_eq!(reconcile(&off).await, 0);
    let path = format!("gateways/{}", gateway["id"].as_str().unwrap());
    world.ledger(Method::PUT, &path).json(&json!({ "status": "inactive" })).send().await.ok(200);
    assert_eq!(reconcile(&world).await, 0);
    assert_eq!(questions(&provider).await.len(), 0);
    world.ledger(Method::PUT, &path).json(&json!({ "status": "active" })).send().await.ok(200);
    assert_eq!(reconcile(&world).await, 1);
}
