//! The audit trail: decisions, section 9.

use chrono::TimeDelta;
use portico::callers::{Caller, Scope, Who};
use portico::developers::roll_api_key;
use portico::kernel::ids::{KeyId, OperatorId};
use portico::operators::Role;
use portico::resources::GracePeriod;
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::World;
use crate::support::fleet::id;
use crate::support::gateways::{SECRET_KEY, SIGNING_SECRET};
use crate::support::receiver::Reply;

impl World {
    /// The newest entries of the audit trail.
    async fn changes(&self, filters: &str) -> Vec<Value> {
        self.get(&format!("changes?limit=100{filters}")).await["changes"].as_array().unwrap().clone()
    }

    /// Sends a request that changes something. It must leave these entries, the oldest first; returns the body of the response.
    async fn leaves(&self, method: Method, path: &str, body: Value, entries: &[(&str, &str, &[&str])]) -> Value {
        // Entries of the same instant have no order.
        self.pass(TimeDelta::milliseconds(1));
        let before = self.changes("").await.len();
        let request = self.api(method.clone(), path);
        let answer = if matches!(method, Method::GET | Method::DELETE) { request.send().await } else { request.json(&body).send().await };
        assert!(answer.status < 300, "{answer:?}");
        let changes = self.changes("").await;
        let mut new = changes[..changes.len() - before].to_vec();
        new.sort_by_key(|change| change["action"].as_str().unwrap().to_owned());
        let found: Vec<_> = new.iter().map(|change| json!([change["action"], change["kind"], change["fields"]])).collect();
        let expected: Vec<_> = entries.iter().map(|(action, kind, fields)| json!([action, kind, fields])).collect();
        assert_eq!(found, expected, "{method} {path}");
        let own: Uuid = sqlx::query_scalar("select id from api_keys where name = 'test'").fetch_one(&self.pool).await.unwrap();
        for change in &new {
            assert_eq!((&change["caller"], &change["caller_id"]), (&json!("api_key"), &json!(KeyId::from(own))));
            assert_eq!(change["request_id"], answer.header("x-request-id").unwrap());
        }
        let of_request = self.changes(&format!("&request_id={}", answer.header("x-request-id").unwrap())).await;
        assert_eq!(of_request.len(), new.len(), "found by the id of the request");
        answer.body
    }
}

#[tokio::test]
async fn changes_by_api_say_who_changed_what_in_which_request() {
    let world = World::new().await;
    let keys = "/developers/int/v1/api-keys";
    let body = json!({ "name": "Reports", "scopes": ["read"] });
    let key = world.leaves(Method::POST, keys, body, &[("created", "api_key", &[])]).await["api_key"].take();
    let key = format!("{keys}/{}", id(&key));
    let body = json!({ "name": "Numbers", "scopes": ["read", "write"], "expires_at": null });
    world.leaves(Method::PUT, &key, body, &[("updated", "api_key", &["name", "scopes"])]).await;
    let rolled: &[(&str, &str, &[&str])] = &[("created", "api_key", &[]), ("updated", "api_key", &["revoked_at"])];
    world.leaves(Method::POST, &format!("{key}/roll"), json!({}), rolled).await;
    world.leaves(Method::DELETE, &key, json!(null), &[("deleted", "api_key", &[])]).await;

    world.resolver.insert("hooks.example", &["127.0.0.1".parse().unwrap()]);
    let webhooks = "/developers/int/v1/webhooks";
    let body = json!({ "url": "https://hooks.example:8443/" });
    let webhook = world.leaves(Method::POST, webhooks, body, &[("created", "webhook", &[])]).await["webhook"].take();
    let webhook = format!("{webhooks}/{}", id(&webhook));
    let body = json!({ "description": "Books", "headers": { "X-Shop": "7" } });
    world.leaves(Method::PUT, &webhook, body, &[("updated", "webhook", &["description", "headers"])]).await;
    // Responses mask the value of a header.
    world.leaves(Method::PUT, &webhook, json!({ "headers": { "X-Shop": "8" } }), &[("updated", "webhook", &["headers"])]).await;
    let rotated: &[&str] = &["previous_secret_until", "secret", "previous_secret"];
    world.leaves(Method::POST, &format!("{webhook}/rotate-secret"), json!({}), &[("updated", "webhook", rotated)]).await;
    let switched: &[&str] = &["status", "disabled_reason", "disabled_at"];
    world.leaves(Method::GET, &format!("{webhook}/secret"), json!(null), &[("shown", "webhook", &[])]).await;
    world.leaves(Method::POST, &format!("{webhook}/disable"), json!({}), &[("updated", "webhook", switched)]).await;
    world.leaves(Method::POST, &format!("{webhook}/disable"), json!({}), &[]).await;
    world.leaves(Method::POST, &format!("{webhook}/enable"), json!({}), &[("updated", "webhook", switched)]).await;
    world.leaves(Method::DELETE, &webhook, json!(null), &[("deleted", "webhook", &[])]).await;

    let stores = "/storefront/int/v1/stores";
    let store = world.leaves(Method::POST, stores, json!({ "name": "Outlet" }), &[("created", "store", &[])]).await["store"].take();
    let store = format!("{stores}/{}", id(&store));
    let body = json!({ "texts_per_day": 7, "text_countries": ["DE"] });
    world.leaves(Method::PUT, &store, body, &[("updated", "store", &["text_countries", "texts_per_day"])]).await;
    let paused: &[(&str, &str, &[&str])] = &[("updated", "store", &["texts_paused_at", "texts_paused_reason"])];
    for texts_paused in [true, false] {
        world.leaves(Method::PUT, &store, json!({ "texts_paused": texts_paused }), paused).await;
    }
    world.leaves(Method::DELETE, &store, json!(null), &[("deleted", "store", &[])]).await;

    let gateways = "/ledger/int/v1/gateways";
    let body = json!({ "name": "Cards", "driver": "card", "secret_key": SECRET_KEY });
    let gateway = world.leaves(Method::POST, gateways, body, &[("created", "gateway", &[])]).await["gateway"].take();
    let gateway = format!("{gateways}/{}", id(&gateway));
    let body = json!({ "secret_key": SECRET_KEY, "signing_secret": SIGNING_SECRET, "status": "inactive" });
    world.leaves(Method::PUT, &gateway, body, &[("updated", "gateway", &["status", "secret_key", "signing_secret"])]).await;
    world.leaves(Method::DELETE, &gateway, json!(null), &[("deleted", "gateway", &[])]).await;
    // What is not about access or settings has its events instead.
    world.leaves(Method::POST, "/fleet/int/v1/drivers", json!({ "name": "Ada" }), &[]).await;
}

#[tokio::test]
async fn no_secret_gets_into_the_trail() {
    let world = World::new().await;
    world.resolver.insert("hooks.example", &["127.0.0.1".parse().unwrap()]);
    let key = world.developers(Method::POST, "api-keys", json!({ "name": "Reports", "scopes": ["read"] })).await.ok(201);
    let body = json!({ "url": "https://hooks.example:8443/", "headers": { "X-Shop": "h3ader s3cret" } });
    let webhook = world.developers(Method::POST, "webhooks", body).await.ok(201);
    let path = format!("webhooks/{}/rotate-secret", id(&webhook["webhook"]));
    let rotated = world.developers(Method::POST, &path, json!({})).await.ok(200);
    let gateway = world.card().await;
    let body = json!({ "secret_key": "sk_live_another0ne", "signing_secret": null });
    world.ledger(Method::PUT, &format!("gateways/{}", id(&gateway))).json(&body).send().await.ok(200);

    let shown = json!(world.changes("").await).to_string();
    let stored: String = sqlx::query_scalar("select string_agg(changes::text, E'\\n') from changes").fetch_one(&world.pool).await.unwrap();
    let secrets =
        [&key["api_key"]["key"], &webhook["webhook"]["secret"], &rotated["webhook"]["secret"]].map(|secret| secret.as_str().unwrap());
    for secret in secrets.into_iter().chain([SECRET_KEY, SIGNING_SECRET, "sk_live_another0ne", "h3ader", &world.api_key, &world.store_key])
    {
        assert!(!shown.contains(secret) && !stored.contains(secret), "{secret}");
    }
    assert!(stored.contains("signing_secret") && !shown.contains("digest") && !shown.contains("sealed"), "{shown}");
}

#[tokio::test]
async fn what_is_refused_or_changes_nothing_leaves_no_entry() {
    let world = World::new().await;
    let gateway = world.card().await;
    let path = format!("/ledger/int/v1/gateways/{}", id(&gateway));
    let less = world.key_of(world.company, &[Scope::Read, Scope::Write]).await;
    let before = world.changes("").await.len();
    // The insert is rolled back by the constraint.
    let body = json!({ "name": "More cards", "driver": "card", "secret_key": SECRET_KEY });
    world.ledger(Method::POST, "gateways").json(&body).send().await.refused(422, "body_invalid");
    world.api(Method::PUT, &path).json(&json!({ "name": "" })).send().await.refused(422, "body_invalid");
    world.api(Method::PUT, &path).json(&json!({ "name": "Cards" })).send().await.ok(200);
    world.api(Method::DELETE, &path).header("if-match", "\"7\"").send().await.refused(412, "record_changed");
    world.api(Method::DELETE, &path).key(&less).send().await.refused(403, "scope_missing");
    let stronger = json!({ "name": "Strong", "scopes": ["admin"], "allowed_networks": ["10.0.0.0/99"] });
    world.developers(Method::POST, "api-keys", stronger).await.refused(422, "body_invalid");
    assert_eq!(world.changes("").await.len(), before);
}

#[tokio::test]
async fn the_trail_is_narrowed_by_record_kind_action_and_caller() {
    let world = World::new().await;
    let (gateway, other) = (world.gateway(json!({ "name": "Cash", "driver": "manual" })).await, world.card().await);
    world.pass(TimeDelta::milliseconds(1));
    world.ledger(Method::PUT, &format!("gateways/{}", id(&gateway))).json(&json!({ "name": "Coins" })).send().await.ok(200);
    let of_gateway = world.changes(&format!("&record={}", id(&gateway))).await;
    assert_eq!(of_gateway.iter().map(|change| &change["action"]).collect::<Vec<_>>(), ["updated", "created"]);
    assert!(of_gateway.iter().all(|change| change["record"] == gateway["id"]));
    assert_eq!(world.changes(&format!("&record={}", other["uuid"].as_str().unwrap())).await.len(), 1);
    assert_eq!(world.changes("&kind=gateway&action=updated").await, of_gateway[..1]);
    // The first store and the keys were made on the command line.
    let by_command: Vec<_> = world.changes("&caller=command_line").await.iter().map(|change| change["kind"].clone()).collect();
    assert_eq!(by_command.len(), 3);
    assert!(["store", "store_key", "api_key"].iter().all(|kind| by_command.contains(&json!(kind))));
    let by_key = world.changes(&format!("&caller_id={}", of_gateway[0]["caller_id"].as_str().unwrap())).await;
    assert_eq!(by_key.len(), 3);
    let found = world.get(&format!("changes/{}", id(&by_key[0]))).await;
    assert_eq!(found["change"], by_key[0]);
    world.api(Method::GET, "/developers/int/v1/changes?kind=parcel").send().await.refused(422, "parameter_invalid");
    let page = world.get("changes?limit=2").await;
    let next = world.get(&format!("changes?limit=2&after={}", page["meta"]["next"].as_str().unwrap())).await;
    assert_ne!(page["changes"][1], next["changes"][0]);
}

#[tokio::test]
async fn the_trail_is_for_admins_of_the_company_alone() {
    let world = World::new().await;
    let (_, theirs) = world.another_company(&[Scope::Admin]).await;
    let own = world.changes("").await;
    let path = "/developers/int/v1/changes";
    let list = world.request(Method::GET, path).key(&theirs).send().await.ok(200);
    let records: Vec<_> = list["changes"].as_array().unwrap().iter().map(|change| change["record"].clone()).collect();
    assert_eq!(records.len(), 1, "only the creation of their key");
    assert!(own.iter().all(|change| !records.contains(&change["record"])));
    world.request(Method::GET, &format!("{path}/{}", id(&own[0]))).key(&theirs).send().await.refused(404, "record_not_found");
    let less = world.key_of(world.company, &[Scope::Read, Scope::Write, Scope::Events, Scope::Callbacks]).await;
    for path in [path.to_owned(), format!("{path}/{}", id(&own[0]))] {
        world.request(Method::GET, &path).key(&less).send().await.refused(403, "scope_missing");
    }
    for method in [Method::POST, Method::PUT, Method::DELETE] {
        assert_eq!(world.api(method, &format!("{path}/{}", id(&own[0]))).send().await.status, 405);
    }
}

#[tokio::test]
async fn operators_and_the_service_are_callers_too() {
    let world = World::new().await;
    let made = world.developers(Method::POST, "api-keys", json!({ "name": "Reports", "scopes": ["read"] })).await.ok(201);
    let key: KeyId = id(&made["api_key"]).parse().unwrap();
    let operator = OperatorId::from(Uuid::from_u128(7));
    let acting_as = |role: Role| Caller { company: world.company, grant: role.grant(), who: Who::Operator(operator), request: None };
    let roll = async |role| roll_api_key(&world.state.companies, &acting_as(role), key, GracePeriod::default()).await;
    for role in [Role::Viewer, Role::Support] {
        let refused = roll(role).await.unwrap_err().body("");
        let reason = "Your role does not allow this: it needs the permission admin for webhooks, stores and keys.";
        assert_eq!((&refused["code"], &refused["detail"]), (&json!("scope_missing"), &json!(reason)), "{role:?}");
    }
    // The key would show a developer the customers.
    assert_eq!(roll(Role::Developer).await.unwrap_err().body("")["code"], "api_key_too_strong");
    roll(Role::Owner).await.unwrap();
    let by_operator = world.changes(&format!("&caller_id={operator}")).await;
    assert_eq!(by_operator.len(), 2);
    assert!(by_operator.iter().all(|change| change["caller"] == "operator" && change["request_id"].is_null()));

    let (receiver, webhook) = world.subscriber("shop.test").await;
    receiver.will([Reply::status(410)]);
    world.publish("order.created").await;
    world.deliver().await;
    let disabled = world.changes("&caller=service").await;
    assert_eq!((disabled.len(), &disabled[0]["record"], &disabled[0]["caller_id"]), (1, &webhook["id"], &Value::Null));
    assert_eq!(disabled[0]["fields"], json!(["status", "disabled_reason", "disabled_at"]));
}

#[tokio::test]
async fn entries_are_kept_as_long_as_the_setting_says() {
    let world = World::with(&[("audit_trail.retention", "90d")]).await;
    let sweep = async || world.state.audit_trail.sweep().await.unwrap();
    world.pass(TimeDelta::days(90));
    sweep().await;
    assert_eq!(world.changes("").await.len(), 3);
    world.pass(TimeDelta::seconds(1));
    sweep().await;
    assert_eq!(world.changes("").await.len(), 0);
}
