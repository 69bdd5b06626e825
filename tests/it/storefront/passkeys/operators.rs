//! What operators see of passkeys, and what they can do.

use reqwest::Method;
use serde_json::{Value, json};

use super::{ada, id};
use crate::support::World;
use crate::support::customers::me;

#[tokio::test]
async fn an_operator_sees_exports_and_removes_passkeys() {
    let world = World::with_passkeys(&[]).await;
    let (ada, passkey) = ada(&world).await;
    let customer = me(&world, &ada).await["id"].as_str().unwrap().to_owned();
    let path = format!("/storefront/int/v1/customers/{customer}");
    let shown = world.api(Method::GET, &path).send().await.ok(200)["customer"]["passkeys"].clone();
    assert_eq!((shown.as_array().unwrap().len(), &shown[0]["state"]), (1, &json!("active")));
    let exported = world.api(Method::GET, &format!("{path}/export")).send().await.ok(200)["passkeys"][0].clone();
    assert_eq!((&exported["name"], exported.get("public_key")), (&shown[0]["name"], None));

    let remove = |id: &str| world.api(Method::POST, &format!("{path}/remove-passkey")).json(&json!({ "passkey": id })).send();
    remove("passkey_01h455vb4pex5vsknk084sn02q").await.refused(404, "record_not_found");
    remove(id(&shown[0])).await.ok(200);
    assert_eq!(world.api(Method::GET, &path).send().await.ok(200)["customer"]["passkeys"], json!([]));
    world.prove(&passkey).await.refused(401, "passkey_not_verified");
    let trail = world.get("changes?limit=100").await["changes"].as_array().unwrap().clone();
    let is_told = |change: &Value| change["record"] == json!(customer) && change["fields"] == json!(["passkeys"]);
    assert!(trail.iter().any(is_told), "{trail:?}");
}
