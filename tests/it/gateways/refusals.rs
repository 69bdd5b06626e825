//! Callbacks that are not genuine are refused, recorded as refused, and publish nothing.

use chrono::TimeDelta;
use portico::callers::Scope;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::gateways::{SIGNING_SECRET, card_signature, paid};

/// Asserts that the only consequence is a record with the reason.
async fn recorded(world: &World, reason: &str) -> Value {
    let callback = world.last_callback().await;
    assert_eq!((&callback["status"], &callback["reason"]), (&json!("refused"), &json!(reason)));
    assert!(callback["detail"].as_str().unwrap().ends_with('.'));
    assert_eq!(world.count("select count(*) from payments").await, 0);
    assert_eq!(world.count("select count(*) from events").await, 0);
    let path = format!("callbacks/{}/process", callback["id"].as_str().unwrap());
    world.ledger(Method::POST, &path).send().await.refused(422, "callback_refused");
    callback
}

#[tokio::test]
async fn a_signature_that_is_wrong_old_or_missing() {
    let world = World::new().await;
    let gateway = world.card().await;
    let (now, body) = (world.clock.now(), paid("evt_1").to_string());
    let good = card_signature(SIGNING_SECRET, &body, now);
    for (signature, body, reason) in [
        (good.as_str(), paid("evt_2").to_string(), "signature_wrong"),
        (&card_signature("whsec_another", &body, now), body.clone(), "signature_wrong"),
        (&card_signature(SIGNING_SECRET, &body, now - TimeDelta::seconds(301)), body.clone(), "timestamp_outside"),
        (&card_signature(SIGNING_SECRET, &body, now + TimeDelta::seconds(301)), body.clone(), "timestamp_outside"),
        ("t=1,v2=00", body.clone(), "signature_wrong"),
        ("nonsense", body.clone(), "signature_malformed"),
        ("", body.clone(), "signature_malformed"),
    ] {
        world.pass(TimeDelta::milliseconds(1));
        let request = world.request(Method::POST, gateway["callback_path"].as_str().unwrap()).header("card-signature", signature);
        let refused = request.body(body.clone()).send().await.refused(400, "callback_not_genuine");
        assert!(!refused["detail"].as_str().unwrap().contains("five minutes"), "the response does not reveal the reason");
        assert_eq!(recorded(&world, reason).await["body"], body);
    }
    world.pass(TimeDelta::milliseconds(1));
    let unsigned = world.request(Method::POST, gateway["callback_path"].as_str().unwrap()).json(&paid("evt_1"));
    unsigned.send().await.refused(400, "callback_not_genuine");
    recorded(&world, "signature_missing").await;
    // None of them took the key of the genuine callback.
    assert_eq!(world.call_back(&gateway, &paid("evt_1")).await.ok(200)["message"], "Webhook received.");
}

#[tokio::test]
async fn a_gateway_without_a_signing_secret_is_believed_nothing() {
    let world = World::new().await;
    let gateway = world.gateway(json!({ "name": "Any", "driver": "hmac", "settings": { "signature": { "header": "X-Signature" } } })).await;
    let post = world.request(Method::POST, gateway["callback_path"].as_str().unwrap()).header("x-signature", "00");
    post.json(&paid("evt_1")).send().await.refused(400, "callback_not_genuine");
    recorded(&world, "secret_missing").await;
}

#[tokio::test]
async fn another_companys_gateway_and_another_companys_name() {
    let world = World::new().await;
    let gateway = world.card().await;
    let (other, other_key) = world.another_company(&[Scope::Callbacks, Scope::Read, Scope::Write]).await;
    let post = |body: &Value| {
        let signature = card_signature(SIGNING_SECRET, &body.to_string(), world.clock.now());
        world.request(Method::POST, "/webhooks").key(&other_key).header("card-signature", &signature).json(body)
    };
    let theirs = async |reason: &str| {
        let path = "/ledger/int/v1/callbacks?limit=1";
        let list = world.request(Method::GET, path).key(&other_key).send().await.ok(200);
        let callback = &list["callbacks"][0];
        assert_eq!((&callback["status"], &callback["reason"], &callback["gateway"]), (&json!("refused"), &json!(reason), &json!(null)));
    };
    let mut named = paid("evt_1");
    named["gateway_uuid"] = gateway["uuid"].clone();
    post(&named).send().await.refused(404, "gateway_not_configured");
    theirs("gateway_not_configured").await;
    post(&paid("evt_1")).header("x-gateway-id", gateway["id"].as_str().unwrap()).send().await.refused(404, "gateway_not_configured");

    world.pass(TimeDelta::milliseconds(1));
    let mut foreign = paid("evt_1");
    foreign["company_uuid"] = json!(world.company.uuid());
    post(&foreign).send().await.refused(403, "company_mismatch");
    theirs("company_mismatch").await;
    for nonsense in [json!("nobody"), json!(7), json!("")] {
        foreign["company_uuid"] = nonsense;
        post(&foreign).send().await.refused(403, "company_mismatch");
    }
    // The gateway's own callback path does not bypass the check.
    foreign["company_uuid"] = json!(other.uuid());
    world.call_back(&gateway, &foreign).await.refused(403, "company_mismatch");
    recorded(&world, "company_mismatch").await;
    // A callback that names the right company is accepted, in either form.
    for (number, company) in [json!(world.company), json!(world.company.uuid())].into_iter().enumerate() {
        let mut own = paid(&format!("evt_{number}"));
        own["company_uuid"] = company;
        world.call_back(&gateway, &own).await.ok(200);
    }
}

#[tokio::test]
async fn who_has_no_key_cannot_fill_the_disk() {
    let world = World::new().await;
    let gateway = world.card().await;
    let path = gateway["callback_path"].as_str().unwrap().to_owned();
    let nonsense = "x".repeat(500_000);
    for _ in 0..65 {
        world.request(Method::POST, &path).body(nonsense.clone()).send().await.refused(400, "callback_not_genuine");
    }
    assert_eq!(world.count("select count(*) from callbacks").await, 60);
    assert_eq!(world.count("select max(length(body))::bigint from callbacks").await, 4096);
    assert_eq!(world.last_callback().await["body_size"], 500_000);
    world.pass(TimeDelta::hours(1) + TimeDelta::seconds(1));
    world.request(Method::POST, &path).body("{}").send().await.refused(400, "callback_not_genuine");
    assert_eq!(world.count("select count(*) from callbacks").await, 61);
    world.pass(TimeDelta::days(14) + TimeDelta::seconds(1));
    world.state.gateways.run_due().await.unwrap();
    assert_eq!(world.count("select count(*) from callbacks").await, 0);
    // Nothing is recorded for an unknown gateway.
    world
        .request(Method::POST, "/webhooks/gateway_01h455vb4pex5vsknk084sn02q")
        .body("{}")
        .send()
        .await
        .refused(404, "gateway_not_configured");
    world.request(Method::POST, "/webhooks/nonsense").body("{}").send().await.refused(404, "gateway_not_configured");
    assert_eq!(world.count("select count(*) from callbacks").await, 0);
}
