//! Rotating the secret of a gateway's callbacks: decisions, section 8.

use chrono::TimeDelta;
use portico::kernel::clock::timestamp;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::gateways::{SIGNING_SECRET, card_signature, paid};
use crate::support::program::fed;

const NEW: &str = "whsec_the-new-secret";

impl World {
    /// Whether a new callback with this secret is believed.
    async fn believes(&self, gateway: &Value, secret: &str) -> bool {
        self.pass(TimeDelta::seconds(2));
        let body = paid(&format!("evt_{}", self.clock.now().timestamp()));
        let signature = card_signature(secret, &body.to_string(), self.clock.now());
        let path = gateway["callback_path"].as_str().unwrap();
        let answer = self.request(Method::POST, path).header("card-signature", &signature).json(&body).send().await;
        assert!(answer.status == 200 || answer.body["code"] == "callback_not_genuine", "{answer:?}");
        answer.status == 200
    }

    async fn gateway_changed(&self, gateway: &Value, body: Value) -> Value {
        let path = format!("gateways/{}", gateway["id"].as_str().unwrap());
        self.ledger(Method::PUT, &path).json(&body).send().await.ok(200)["gateway"].take()
    }
}

#[tokio::test]
async fn the_previous_secret_verifies_until_the_overlap_ends() {
    let world = World::new().await;
    let gateway = world.card().await;
    assert_eq!(gateway["previous_signing_secret_until"], Value::Null);
    let rotated = world.gateway_changed(&gateway, json!({ "signing_secret": NEW })).await;
    assert_eq!(rotated["previous_signing_secret_until"], timestamp(world.clock.now() + TimeDelta::days(1)));
    assert!(world.believes(&gateway, NEW).await && world.believes(&gateway, SIGNING_SECRET).await);
    assert!(!world.believes(&gateway, "whsec_of-nobody").await);
    let tested = world.ledger(Method::POST, &format!("gateways/{}/test", gateway["id"].as_str().unwrap())).send().await.ok(200);
    assert!(tested["checks"].as_array().unwrap().iter().any(|check| check["subject"] == "previous_signing_secret"), "{tested}");

    // A request that is repeated does not forget the secret that the gateway still uses.
    world.gateway_changed(&gateway, json!({ "signing_secret": NEW })).await;
    assert!(world.believes(&gateway, SIGNING_SECRET).await);
    world.pass(TimeDelta::days(1));
    assert!(world.believes(&gateway, NEW).await && !world.believes(&gateway, SIGNING_SECRET).await);
    // What has ended does not come back.
    assert_eq!(world.gateway_changed(&gateway, json!({ "overlap": 3600 })).await["previous_signing_secret_until"], Value::Null);
    assert!(!world.believes(&gateway, SIGNING_SECRET).await);
}

#[tokio::test]
async fn an_overlap_is_as_long_as_it_is_said_to_be_and_may_be_ended() {
    let world = World::new().await;
    let gateway = world.card().await;
    let rotated = world.gateway_changed(&gateway, json!({ "signing_secret": NEW, "overlap": 0 })).await;
    assert_eq!(rotated["previous_signing_secret_until"], Value::Null);
    assert!(!world.believes(&gateway, SIGNING_SECRET).await, "a secret that somebody has stolen is not believed for a moment");

    let rotated = world.gateway_changed(&gateway, json!({ "signing_secret": SIGNING_SECRET, "overlap": 3600 })).await;
    assert_eq!(rotated["previous_signing_secret_until"], timestamp(world.clock.now() + TimeDelta::hours(1)));
    assert!(world.believes(&gateway, NEW).await);
    world.gateway_changed(&gateway, json!({ "overlap": 0 })).await;
    assert!(!world.believes(&gateway, NEW).await && world.believes(&gateway, SIGNING_SECRET).await);
    // Without a secret, nobody is believed.
    world.gateway_changed(&gateway, json!({ "signing_secret": NEW })).await;
    world.gateway_changed(&gateway, json!({ "signing_secret": null })).await;
    assert!(!world.believes(&gateway, NEW).await && !world.believes(&gateway, SIGNING_SECRET).await);
    assert_eq!(world.count("select count(*) from gateways where previous_signing_secret is not null").await, 0);
}

#[tokio::test]
async fn the_command_rotates_the_signing_secret_and_says_until_when_the_previous_one_verifies() {
    let world = World::new().await;
    let gateway = world.card().await;
    let settings = [("database.url", world.database.as_str()), ("application_key", world.application_key_setting.as_str())];
    let rotate = ["gateway", "rotate", gateway["id"].as_str().unwrap(), "--signing-secret", "--overlap", "2h", "--json"];
    let printed: Value = serde_json::from_str(&fed(&rotate, &settings, "whsec_by-the-command\n").await.unwrap()).unwrap();
    let until = printed["gateway"]["previous_signing_secret_until"].as_str().unwrap();
    assert!(until.starts_with("20"), "{printed}");
    let shown = world.ledger(Method::GET, &format!("gateways/{}", gateway["id"].as_str().unwrap())).send().await.ok(200);
    assert_eq!(shown["gateway"]["previous_signing_secret_until"], until);
    assert!(fed(&["gateway", "rotate", gateway["id"].as_str().unwrap(), "--overlap", "2h"], &settings, "x").await.is_err());
}
