//! Whatever one genuine callback contains, it takes no more than its share.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::gateways::event;

/// A charge whose refunds are named `re_{first}` and so on, one cent each.
fn refunded(id: &str, first: usize, number: usize, status: &str) -> Value {
    let refund = |number| json!({ "id": format!("re_{number}"), "amount": 1, "currency": "usd", "status": status });
    let refunds: Vec<_> = (first..first + number).map(refund).collect();
    event(id, "charge.refunded", json!({ "id": "ch_1", "currency": "usd", "refunds": { "data": refunds } }))
}

#[tokio::test]
async fn a_callback_tells_of_a_thousand_refunds_and_of_no_more() {
    let world = World::new().await;
    let gateway = world.card().await;
    assert_eq!(world.call_back(&gateway, &refunded("evt_1", 0, 1_000, "succeeded")).await.ok(200)["message"], "Webhook received.");
    assert_eq!(world.payment().await["refunded_amount"], 1_000);
    assert_eq!(world.count("select count(*) from events where name = 'refund.processed'").await, 1_000);
    for number in [1_001, 15_000] {
        let too_many = refunded(&format!("evt_{number}"), 0, number, "succeeded");
        world.call_back(&gateway, &too_many).await.refused(400, "callback_not_understood");
        assert_eq!(world.last_callback().await["detail"], format!("One callback may report at most 1000 refunds, not {number}."));
    }
    assert_eq!(world.payment().await["refunded_amount"], 1_000);
}

#[tokio::test]
async fn a_payment_has_ten_thousand_facts_at_most() {
    let world = World::new().await;
    let gateway = world.card().await;
    for number in 0..10 {
        world.call_back(&gateway, &refunded(&format!("evt_{number}"), number * 1_000, 1_000, "pending")).await.ok(200);
    }
    let one_more = refunded("evt_10", 10_000, 1, "succeeded");
    world.call_back(&gateway, &one_more).await.refused(400, "callback_not_understood");
    let failed = world.last_callback().await;
    assert_eq!((&failed["status"], &failed["payments"]), (&json!("failed"), &json!([])));
    let path = format!("callbacks/{}/process", failed["id"].as_str().unwrap());
    assert_eq!(world.ledger(Method::POST, &path).send().await.ok(200)["callback"]["status"], "failed");
    assert_eq!(world.payment().await["refunded_amount"], 0);
}

#[tokio::test]
async fn what_a_gateway_writes_at_length_is_cut_short_and_its_ids_are_not() {
    let world = World::new().await;
    let gateway = world.card().await;
    let dispute = |id: &str, reason: &str| {
        let object = json!({ "id": id, "charge": "ch_1", "amount": 1000, "currency": "usd", "reason": reason });
        event(&format!("evt_of_{}", id.len()), "charge.dispute.created", object)
    };
    world.call_back(&gateway, &dispute("dp_1", &"\u{1}ä".repeat(100_000))).await.ok(200);
    assert_eq!(world.payment().await["history"][0]["message"], "\u{1}ä".repeat(500));
    let longest = world.count("select max(length(body))::bigint from events").await;
    assert!(longest < 256 * 1024, "{longest}");
    world.call_back(&gateway, &dispute(&"d".repeat(256), "fraud")).await.refused(400, "callback_not_understood");
}

#[tokio::test]
async fn what_is_refused_beyond_the_limit_asks_no_database() {
    let world = World::new().await;
    let gateway = world.card().await;
    let post = || world.request(Method::POST, gateway["callback_path"].as_str().unwrap()).body("{}").send();
    for _ in 0..60 {
        post().await.refused(400, "callback_not_genuine");
    }
    let mut locked = world.hold().await;
    sqlx::query("lock table rate_limits, callbacks").execute(&mut *locked).await.unwrap();
    futures::future::join_all((0..100).map(|_| post()))
        .await
        .into_iter()
        .for_each(|answer| _ = answer.refused(400, "callback_not_genuine"));
}
