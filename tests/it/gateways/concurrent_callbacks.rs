//! Callbacks that arrive at the same moment are recorded together: each gets the response it would get alone, and a failing one
//! does not affect the others.

use chrono::TimeDelta;
use futures::future::join_all;
use portico::callers::Scope;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::gateways::{SIGNING_SECRET, card_signature, event, paid};

/// The events of a payment that was pending, failed, succeeded and was refunded in two parts.
fn story(payment: &str) -> Vec<Value> {
    let intent = json!({ "id": payment, "amount": 1000, "currency": "usd" });
    let refund = |number: u32, amount: u32| {
        let object = json!({ "id": format!("re_{payment}_{number}"), "payment_intent": payment, "amount": amount, "currency": "usd" });
        event(&format!("evt_{payment}_refund_{number}"), "refund.created", object)
    };
    vec![
        event(&format!("evt_{payment}_pending"), "payment_intent.processing", intent.clone()),
        event(&format!("evt_{payment}_failed"), "payment_intent.payment_failed", intent.clone()),
        event(&format!("evt_{payment}_paid"), "payment_intent.succeeded", intent),
        refund(1, 300),
        refund(2, 400),
    ]
}

/// Asserts that payments and events reflect every story exactly once.
async fn are_published_once(world: &World, payments: usize) {
    let list = world.ledger(Method::GET, "payments").send().await.ok(200);
    let list = list["payments"].as_array().unwrap();
    assert_eq!(list.len(), payments);
    for payment in list {
        let state = (&payment["status"], &payment["amount"], &payment["refunded_amount"]);
        assert_eq!(state, (&json!("partially_refunded"), &json!(1000), &json!(700)), "{payment}");
        let events = world.payment_events().await;
        let mut published: Vec<_> = events.iter().filter(|(_, data)| data["id"] == payment["id"]).map(|(name, _)| name.as_str()).collect();
        published.sort_unstable();
        assert_eq!(published, ["payment.failed", "payment.pending", "payment.succeeded", "refund.processed", "refund.processed"]);
    }
    assert_eq!(world.count("select count(*) from payment_facts").await, i64::try_from(5 * payments).unwrap());
    assert_eq!(world.count("select count(*) from payment_facts where sequence > 5").await, 0, "the facts are numbered without a gap");
}

#[tokio::test]
async fn a_crowd_of_callbacks_of_few_payments() {
    let world = World::new().await;
    let gateway = world.card().await;
    let payments: Vec<_> = (0..6).map(|number| format!("pi_{number}")).collect();
    let crowd: Vec<_> = payments.iter().flat_map(|payment| [story(payment), story(payment)].concat()).collect();
    let answers = join_all(crowd.iter().map(|event| world.call_back(&gateway, event))).await;
    let new = answers.into_iter().filter(|answer| answer.body["message"] == "Webhook received.").count();
    assert_eq!(new, 30, "each callback is new once");
    are_published_once(&world, 6).await;
}

#[tokio::test]
async fn a_crowd_at_two_instances() {
    let here = World::new().await;
    let there = here.another_instance();
    let gateway = here.card().await;
    let crowd: Vec<_> = (0..6).flat_map(|number| story(&format!("pi_{number}"))).collect();
    // Each event goes to both instances, in opposite orders.
    let calls = crowd.iter().zip(crowd.iter().rev()).flat_map(|(first, last)| [(&here, first), (&there, last)]);
    let answers = join_all(calls.map(|(world, event)| world.call_back(&gateway, event))).await;
    let messages: Vec<_> = answers.into_iter().map(|answer| answer.ok(200)["message"].take()).collect();
    assert_eq!(messages.iter().filter(|message| **message == "Webhook received.").count(), 30);
    assert_eq!(messages.iter().filter(|message| **message == "Already processed.").count(), 30);
    assert_eq!(here.count("select count(*) from callbacks where status = 'processed'").await, 30);
    are_published_once(&here, 6).await;
}

#[tokio::test]
async fn each_of_a_crowd_gets_its_own_answer() {
    let world = World::new().await;
    let gateway = world.card().await;
    world.call_back(&gateway, &paid("evt_before")).await.ok(200);
    let (nothing, strange) = (event("evt_1", "invoice.paid", json!({ "id": "in_1" })), event("evt_2", "charge.succeeded", json!({})));
    let (new, before) = (paid("evt_3"), paid("evt_before"));
    let forged = world.request(Method::POST, gateway["callback_path"].as_str().unwrap()).header("card-signature", "t=1,v1=00").json(&new);
    let call = |event| world.call_back(&gateway, event);
    let (forged, ignored, strange, new, before) = futures::join!(forged.send(), call(&nothing), call(&strange), call(&new), call(&before));
    forged.refused(400, "callback_not_genuine");
    strange.refused(400, "callback_not_understood");
    let messages = [ignored, new, before].map(|answer| answer.ok(200)["message"].take());
    assert_eq!(messages, ["Ignored.", "Webhook received.", "Already processed."]);
    assert_eq!(world.payment_event_names().await, ["payment.succeeded"]);
}

#[tokio::test]
async fn one_that_cannot_be_processed_takes_no_other_with_it() {
    let world = World::new().await;
    let gateway = world.card().await;
    sqlx::query("alter table payments add constraint broken check (transaction_id <> 'pi_7')").execute(&world.pool).await.unwrap();
    let crowd: Vec<_> = (0..20)
        .map(|number| {
            let intent = json!({ "id": format!("pi_{number}"), "amount": 1000, "currency": "usd" });
            event(&format!("evt_{number}"), "payment_intent.succeeded", intent)
        })
        .collect();
    for answer in join_all(crowd.iter().map(|event| world.call_back(&gateway, event))).await {
        assert_eq!(answer.ok(200)["message"], "Webhook received.");
    }
    assert_eq!(world.count("select count(*) from payments").await, 19);
    assert_eq!(world.payment_events().await.len(), 19);
    let failed = world.ledger(Method::GET, "callbacks?status=failed").send().await.ok(200)["callbacks"].take();
    assert_eq!((failed.as_array().unwrap().len(), &failed[0]["event_id"]), (1, &json!("evt_7")));

    sqlx::query("alter table payments drop constraint broken").execute(&world.pool).await.unwrap();
    world.pass(TimeDelta::minutes(1));
    assert_eq!(world.state.gateways.run_due().await.unwrap(), 1);
    assert_eq!(world.payment_events().await.len(), 20);
}

#[tokio::test]
async fn what_is_tried_again_and_what_comes_tell_of_one_payment_at_the_same_moment() {
    let here = World::new().await;
    let there = here.another_instance();
    let gateway = here.card().await;
    let story = story("pi_1");
    sqlx::query("alter table payments add constraint broken check (transaction_id <> 'pi_1')").execute(&here.pool).await.unwrap();
    for event in &story[..3] {
        here.call_back(&gateway, event).await.ok(200);
    }
    sqlx::query("alter table payments drop constraint broken").execute(&here.pool).await.unwrap();
    here.pass(TimeDelta::minutes(1));

    // The worker retries the first three, the gateway sends all of them again, and the last two are new.
    let calls = story.iter().flat_map(|event| [here.call_back(&gateway, event), there.call_back(&gateway, event)]);
    let (tried, answers) = futures::join!(there.state.gateways.run_due(), join_all(calls));
    tried.unwrap();
    for answer in answers {
        answer.ok(200);
    }
    assert_eq!(here.count("select count(*) from callbacks where status = 'processed'").await, 5);
    are_published_once(&here, 1).await;
}

#[tokio::test]
async fn what_changes_about_a_gateway_counts_at_once_and_elsewhere_within_a_second() {
    let here = World::new().await;
    let there = here.another_instance();
    let gateway = here.card().await;
    let path = format!("gateways/{}", gateway["id"].as_str().unwrap());
    let key = here.key_of(here.company, &[Scope::Callbacks]).await;
    let with_key = async |world: &World, secret: &str, id: &str| {
        let signature = card_signature(secret, &paid(id).to_string(), world.clock.now());
        world.request(Method::POST, "/webhooks").key(&key).header("card-signature", &signature).json(&paid(id)).send().await
    };
    for (number, world) in [&here, &there].into_iter().enumerate() {
        world.call_back(&gateway, &paid(&format!("evt_{number}"))).await.ok(200);
        with_key(world, SIGNING_SECRET, &format!("evt_{number}_with_key")).await.ok(200);
    }

    here.ledger(Method::PUT, &path).json(&json!({ "signing_secret": "whsec_another", "overlap": 0 })).send().await.ok(200);
    here.call_back(&gateway, &paid("evt_2")).await.refused(400, "callback_not_genuine");
    with_key(&here, SIGNING_SECRET, "evt_2").await.refused(400, "callback_not_genuine");
    with_key(&here, "whsec_another", "evt_2").await.ok(200);
    here.pass(TimeDelta::seconds(1));
    there.call_back(&gateway, &paid("evt_3")).await.refused(400, "callback_not_genuine");
    with_key(&there, "whsec_another", "evt_3").await.ok(200);

    here.ledger(Method::DELETE, &path).send().await.ok(200);
    here.call_back(&gateway, &paid("evt_4")).await.refused(404, "gateway_not_configured");
    with_key(&here, "whsec_another", "evt_4").await.refused(404, "gateway_not_configured");
    here.pass(TimeDelta::seconds(1));
    with_key(&there, "whsec_another", "evt_4").await.refused(404, "gateway_not_configured");
}
