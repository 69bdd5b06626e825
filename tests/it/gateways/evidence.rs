//! A callback is evidence and not a request: what it says of a payment is booked, whatever else stands in it.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::gateways::{SIGNING_SECRET, card_signature, event};
use crate::support::{Answer, World};

/// Posts these bytes, signed by the card gateway.
async fn post(world: &World, gateway: &Value, body: &[u8]) -> Answer {
    world.pass(chrono::TimeDelta::milliseconds(1));
    let signature = card_signature(SIGNING_SECRET, body, world.clock.now());
    let request = world.request(Method::POST, gateway["callback_path"].as_str().unwrap()).header("card-signature", &signature);
    request.body(body.to_vec()).send().await
}

/// A payment of 10 dollars with a note that nobody reads.
fn paid_with(id: &str, note: &str) -> String {
    let object = format!(r#"{{"id":"{id}","amount":1000,"amount_received":1000,"currency":"usd","note":{note}}}"#);
    format!(r#"{{"id":"evt_{id}","type":"payment_intent.succeeded","data":{{"object":{object}}}}}"#)
}

#[tokio::test]
async fn what_nobody_reads_is_no_reason_to_refuse_a_payment() {
    let world = World::new().await;
    let gateway = world.card().await;
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let bodies = [
        paid_with("pi_1", r#""\ud83d""#).into_bytes(),
        paid_with("pi_2", r#""a\u0000b""#).into_bytes(),
        paid_with("pi_3", "1e999").into_bytes(),
        [b"\xef\xbb\xbf".as_slice(), paid_with("pi_4", "1").as_bytes()].concat(),
        paid_with("pi_5", "\"M?nchen\"").into_bytes().into_iter().map(|byte| if byte == b'?' { 0xfc } else { byte }).collect(),
        paid_with("pi_6", &deep).into_bytes(),
        paid_with("pi_7", "[NaN,Infinity,-Infinity]").into_bytes(),
    ];
    for (number, body) in (1..).zip(&bodies) {
        assert_eq!(post(&world, &gateway, body).await.ok(200)["message"], "Webhook received.", "pi_{number}");
        let callback = world.last_callback().await;
        assert_eq!((&callback["status"], &callback["event_id"]), (&json!("processed"), &json!(format!("evt_pi_{number}"))));
        assert_eq!(post(&world, &gateway, body).await.ok(200)["message"], "Already processed.", "pi_{number}");
        let kept: Vec<u8> =
            sqlx::query_scalar("select body from callbacks order by created_at desc limit 1").fetch_one(&world.pool).await.unwrap();
        assert_eq!(&kept, body, "the body is kept as it came");
    }
    let paid = "select count(*) from payments where status = 'succeeded' and amount = 1000";
    assert_eq!(world.count(paid).await, i64::try_from(bodies.len()).unwrap());
}

#[tokio::test]
async fn the_ledger_shows_a_body_in_the_encoding_that_it_was_read_in() {
    let world = World::new().await;
    let gateway = world.card().await;
    let object = r#"{"id":"pi_1","amount":1000,"currency":"usd","last_payment_error":{"message":"Karte abgelehnt: M?nchen"}}"#;
    let body = format!(r#"{{"id":"evt_1","type":"payment_intent.payment_failed","data":{{"object":{object}}}}}"#);
    let latin: Vec<u8> = body.into_bytes().into_iter().map(|byte| if byte == b'?' { 0xfc } else { byte }).collect();
    post(&world, &gateway, &latin).await.ok(200);
    let shown = world.last_callback().await["body"].take();
    assert!(shown.as_str().unwrap().contains("München"), "{shown}");
    assert_eq!(world.payment().await["history"][0]["message"], "Karte abgelehnt: München");
}

#[tokio::test]
async fn what_was_pointed_at_and_not_booked_is_said_in_the_record() {
    let world = World::new().await;
    let gateway = world.card().await;
    let metadata = json!({ "order_id": "cart-7", "customer_id": "customer_01h455vb4pex5vsknk084sn02q" });
    let intent = json!({ "id": "pi_1", "amount": 5, "currency": "usd", "metadata": metadata });
    world.call_back(&gateway, &event("evt_1", "payment_intent.succeeded", intent)).await.ok(200);
    let callback = world.last_callback().await;
    assert_eq!((&callback["status"], &callback["reason"]), (&json!("processed"), &json!("partly_understood")));
    let detail = callback["detail"].as_str().unwrap();
    assert!(detail.contains("\"cart-7\"") && detail.contains("no customer customer_01h455vb4pex5vsknk084sn02q"), "{detail}");
    let listed = world.ledger(Method::GET, "callbacks?reason=partly_understood").send().await.ok(200);
    assert_eq!(listed["callbacks"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn what_was_refused_for_its_form_is_healed_by_a_retry() {
    let world = World::new().await;
    let gateway = world.card().await;
    post(&world, &gateway, paid_with("pi_1", "1").as_bytes()).await.ok(200);
    // As the service recorded it while it read callbacks as strictly as requests.
    sqlx::raw_sql("delete from payment_facts; delete from payments; update callbacks set status = 'failed', due_at = created_at")
        .execute(&world.pool)
        .await
        .unwrap();
    let body = paid_with("pi_1", r#""\ud83d""#).into_bytes();
    sqlx::query("update callbacks set body = $1").bind(&body).execute(&world.pool).await.unwrap();
    assert_eq!(world.state.gateways.run_due().await.unwrap(), 1);
    assert_eq!(world.last_callback().await["status"], "processed");
    assert_eq!(world.payment().await["amount"], 1000);
}
