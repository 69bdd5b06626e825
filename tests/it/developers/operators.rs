//! Operators as records of `developers/int/v1`: decisions, section 9.

use chrono::TimeDelta;
use futures::future::join_all;
use portico::callers::Scope;
use portico::operators::Role;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::console::PASSWORD;
use crate::support::fleet::id;
use crate::support::request::Request;

impl World {
    fn operators(&self, method: Method, path: &str) -> Request {
        self.api(method, &format!("/developers/int/v1/operators{path}"))
    }

    async fn operator_called(&self, email: &str) -> Value {
        self.operators(Method::GET, &format!("?email={email}")).send().await.ok(200)["operators"][0].take()
    }

    /// The actions and fields of the entries about operators, the oldest first.
    async fn changes_of_operators(&self) -> Vec<(String, Vec<String>)> {
        sqlx::query_as("select action, fields from changes where kind = 'operator'").fetch_all(&self.pool).await.unwrap()
    }
}

#[tokio::test]
async fn an_operator_is_invited_and_known_by_the_address() {
    let world = World::new().await;
    let body = json!({ "email": "Ada@Acme.example", "name": "Ada", "role": "developer", "language": "de" });
    let made = world.operators(Method::POST, "").json(&body).send().await.ok(201)["operator"].take();
    assert_eq!((&made["email"], &made["role"], &made["accepted_at"]), (&json!("ada@acme.example"), &json!("developer"), &json!(null)));
    assert!(made.get("password_hash").is_none() && made.get("sealed_totp_secret").is_none());
    assert!(world.mailed_key("ada@acme.example").await.is_some());
    let mail = world.messages().swap_remove(0);
    assert_eq!(mail.subject.as_deref(), Some("Ihr Zugang zur Konsole von Acme"));
    assert!(mail.text.starts_with("Guten Tag Ada,") && mail.html.unwrap().contains("Passwort wählen"));

    let twice = world.operators(Method::POST, "").json(&body).send().await.refused(422, "body_invalid");
    assert_eq!(twice["fields"]["email"], json!(["An operator with this address exists already."]));
    for (member, value) in [("role", json!("admin")), ("email", json!("ada")), ("language", json!("fr"))] {
        let mut body = json!({ "email": "bob@acme.example", "role": "viewer" });
        body[member] = value;
        let refused = world.operators(Method::POST, "").json(&body).send().await.refused(422, "body_invalid");
        assert!(refused["fields"].get(member).is_some(), "{refused}");
    }
    let moved = json!({ "email": "eve@acme.example" });
    let refused = world.operators(Method::PUT, &format!("/{}", id(&made))).json(&moved).send().await.refused(422, "body_invalid");
    assert!(refused["fields"].get("email").is_some());
}

#[tokio::test]
async fn the_last_owner_is_neither_demoted_nor_disabled_nor_deleted() {
    let world = World::new().await;
    world.operator("ada@acme.example", Role::Owner).await;
    // An invitation that nobody has accepted lets nobody in.
    world.operators(Method::POST, "").json(&json!({ "email": "eve@acme.example", "role": "owner" })).send().await.ok(201);
    let ada = format!("/{}", id(&world.operator_called("ada@acme.example").await));
    for (body, member) in [(json!({ "role": "viewer" }), "role"), (json!({ "disabled": true }), "disabled")] {
        let refused = world.operators(Method::PUT, &ada).json(&body).send().await.refused(422, "body_invalid");
        assert!(refused["fields"][member][0].as_str().unwrap().starts_with("This is the last owner"), "{refused}");
    }
    world.operators(Method::DELETE, &ada).send().await.refused(409, "record_in_use");
    world.operator("bob@acme.example", Role::Owner).await;
    world.operators(Method::DELETE, &ada).send().await.ok(200);
    let bob = format!("/{}", id(&world.operator_called("bob@acme.example").await));
    world.operators(Method::DELETE, &bob).send().await.refused(409, "record_in_use");
    // Their address is free again.
    world.operator("ada@acme.example", Role::Viewer).await;
}

#[tokio::test]
async fn owners_who_remove_each_other_at_once_leave_one() {
    let world = World::new().await;
    let emails: Vec<_> = (0..6).map(|number| format!("owner-{number}@acme.example")).collect();
    for email in &emails {
        world.operator(email, Role::Owner).await;
    }
    let mut paths = Vec::new();
    for email in &emails {
        paths.push(format!("/{}", id(&world.operator_called(email).await)));
    }
    let world = &world;
    let removing = paths.iter().enumerate().map(|(index, path)| async move {
        match index % 3 {
            0 => world.operators(Method::DELETE, path).send().await.status,
            1 => world.operators(Method::PUT, path).json(&json!({ "role": "viewer" })).send().await.status,
            _ => world.operators(Method::PUT, path).json(&json!({ "disabled": true })).send().await.status,
        }
    });
    let statuses = join_all(removing).await;
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 5, "{statuses:?}");
    assert!(statuses.iter().all(|status| [200, 409, 422].contains(status)), "{statuses:?}");
    let left = "select count(*) from operators where role = 'owner' and disabled_at is null and deleted_at is null";
    assert_eq!(world.count(left).await, 1);
}

#[tokio::test]
async fn a_company_mails_an_address_three_links_an_hour_whoever_has_it() {
    let world = World::new().await;
    let body = json!({ "email": "somebody@elsewhere.example", "role": "viewer" });
    let made = world.operators(Method::POST, "").json(&body).send().await.ok(201)["operator"].take();
    let one = format!("/{}", id(&made));
    let send = async || world.operators(Method::POST, &format!("{one}/send-link")).json(&json!({})).send().await;
    send().await.ok(200);
    send().await.ok(200);
    send().await.refused(429, "rate_limited");
    // Neither does inviting anew help.
    world.operators(Method::DELETE, &one).send().await.ok(200);
    world.operators(Method::POST, "").json(&body).send().await.refused(429, "rate_limited");
    let other = json!({ "email": "other@acme.example", "role": "viewer" });
    world.operators(Method::POST, "").json(&other).send().await.ok(201);
    // What others ask for counts by itself, so that nobody learns of it.
    let (_, theirs) = world.another_company(&Scope::ALL).await;
    world.request(Method::POST, "/developers/int/v1/operators").key(&theirs).json(&body).send().await.ok(201);
    world.pass(TimeDelta::minutes(61));
    world.operators(Method::POST, "").json(&body).send().await.ok(201);
}

#[tokio::test]
async fn whoever_is_disabled_or_deleted_is_signed_out_and_stays_so() {
    let world = World::new().await;
    let mut tab = world.signed_in(Role::Support).await;
    let one = format!("/{}", id(&world.operator_called("support@acme.example").await));
    world.operators(Method::POST, &format!("{one}/send-link")).json(&json!({})).send().await.ok(200);
    let key = world.mailed_key("support@acme.example").await.unwrap();
    let disabled = world.operators(Method::PUT, &one).json(&json!({ "disabled": true })).send().await.ok(200);
    assert_eq!(disabled["operator"]["disabled"], true);
    assert!(tab.open("/console").await.address.starts_with("/console/sign-in"));
    assert_eq!(tab.sign_in("support@acme.example", PASSWORD).await.status, 401);
    assert_eq!(tab.send("/console/password", &[("key", &key), ("password", "another good password")]).await.status, 401);

    world.operators(Method::PUT, &one).json(&json!({ "disabled": false })).send().await.ok(200);
    assert!(tab.open("/console").await.address.starts_with("/console/sign-in"), "the session before does not come back");
    assert_eq!(tab.sign_in("support@acme.example", PASSWORD).await.status, 200);
    world.operators(Method::DELETE, &one).send().await.ok(200);
    assert!(tab.open("/console").await.address.starts_with("/console/sign-in"));
    assert_eq!(tab.sign_in("support@acme.example", PASSWORD).await.status, 401);
    assert_eq!(world.count("select count(*) from operators where password_hash is not null").await, 0);
}

#[tokio::test]
async fn another_role_holds_from_the_next_request_on() {
    let world = World::new().await;
    let mut tab = world.signed_in(Role::Viewer).await;
    assert_eq!(tab.open("/console/records/developers/operators").await.status, 404);
    let one = format!("/{}", id(&world.operator_called("viewer@acme.example").await));
    world.operators(Method::PUT, &one).json(&json!({ "role": "owner" })).send().await.ok(200);
    tab.open("/console/records/developers/operators").await.says("viewer@acme.example");
    let changes = world.changes_of_operators().await;
    assert!(changes.contains(&("updated".to_owned(), vec!["role".to_owned()])), "{changes:?}");
}

#[tokio::test]
async fn the_sessions_of_an_operator_are_listed_and_ended() {
    let world = World::new().await;
    let mut here = world.signed_in(Role::Viewer).await;
    let mut there = world.tab().from("192.0.2.9");
    there.user_agent = "Lost phone";
    world.pass(TimeDelta::seconds(1));
    there.sign_in("viewer@acme.example", PASSWORD).await;
    let one = format!("/{}", id(&world.operator_called("viewer@acme.example").await));
    let listed = world.operators(Method::GET, &format!("{one}/sessions")).send().await.ok(200);
    let lost = &listed["sessions"][0];
    assert_eq!(
        (lost["user_agent"].as_str(), lost["address"].as_str(), lost["method"].as_str()),
        (Some("Lost phone"), Some("192.0.2.9"), Some("password"))
    );
    assert!(!listed.to_string().contains("token"));

    let (_, stranger) = world.another_company(&Scope::ALL).await;
    let end = format!("{one}/end-sessions");
    let foreign = world.request(Method::POST, &format!("/developers/int/v1/operators{end}")).key(&stranger).json(&json!({})).send().await;
    foreign.refused(404, "record_not_found");
    let ended = world.operators(Method::POST, &end).json(&json!({ "session": lost["id"] })).send().await.ok(200);
    assert_eq!(ended["ended"], 1);
    assert!(there.open("/console").await.address.starts_with("/console/sign-in"));
    assert_eq!(here.open("/console").await.address, "/console");
    assert_eq!(world.operators(Method::POST, &end).json(&json!({})).send().await.ok(200)["ended"], 1);
    assert!(here.open("/console").await.address.starts_with("/console/sign-in"));
    assert_eq!(world.count("select count(*) from changes where kind = 'operator_session' and action = 'deleted'").await, 2);
}

#[tokio::test]
async fn a_restricted_key_lets_nobody_in() {
    let world = World::new().await;
    world.operator("bob@acme.example", Role::Support).await;
    world.operator("dev@acme.example", Role::Developer).await;
    let bob = format!("/{}", id(&world.operator_called("bob@acme.example").await));
    let dev = format!("/{}", id(&world.operator_called("dev@acme.example").await));
    world.operators(Method::PUT, &bob).json(&json!({ "disabled": true })).send().await.ok(200);
    let key = world.office_key().await;
    let with = |method: Method, path: &str, body: Value| {
        world.request(method, &format!("/developers/int/v1/operators{path}")).key(&key).from(World::OFFICE).json(&body).send()
    };
    let before = world.changes_of_operators().await;
    for (method, path, body) in [
        (Method::POST, String::new(), json!({ "email": "eve@acme.example", "role": "viewer" })),
        (Method::POST, String::new(), json!({ "email": "eve@acme.example", "role": "viewer", "disabled": true })),
        (Method::PUT, bob.clone(), json!({ "disabled": false })),
        (Method::PUT, bob.clone(), json!({ "role": "owner" })),
        (Method::PUT, dev.clone(), json!({ "role": "support" })),
        (Method::POST, format!("{dev}/send-link"), json!({})),
        (Method::POST, format!("{dev}/reset-totp"), json!({})),
    ] {
        with(method, &path, body).await.refused(403, "api_key_too_strong");
    }
    assert_eq!(world.changes_of_operators().await, before);
    assert!(world.mailed_key("dev@acme.example").await.is_none());

    // It may take away.
    with(Method::PUT, &bob, json!({ "name": "Bob", "role": "viewer" })).await.ok(200);
    with(Method::POST, &format!("{dev}/end-sessions"), json!({})).await.ok(200);
    with(Method::PUT, &dev, json!({ "disabled": true })).await.ok(200);
    with(Method::DELETE, &dev, json!({})).await.ok(200);
}

#[tokio::test]
async fn each_restriction_of_a_key_is_enough_to_let_nobody_in() {
    let world = World::new().await;
    for restriction in [json!({ "expires_at": world.clock.now() + TimeDelta::days(1) }), json!({ "allowed_networks": [World::OFFICE] })] {
        let mut body = json!({ "name": "CI", "scopes": ["admin"] });
        body.as_object_mut().unwrap().extend(restriction.as_object().unwrap().clone());
        let key = world.api(Method::POST, "/developers/int/v1/api-keys").json(&body).send().await.ok(201)["api_key"].take();
        let request = world.request(Method::POST, "/developers/int/v1/operators").key(key["key"].as_str().unwrap()).from(World::OFFICE);
        let refused = request.json(&json!({ "email": "eve@acme.example", "role": "viewer" })).send().await;
        refused.refused(403, "api_key_too_strong");
    }
    assert_eq!(world.count("select count(*) from operators").await, 0);
}

#[tokio::test]
async fn without_a_way_to_send_mails_nobody_is_invited() {
    let world = World::with(&[("environment", "production")]).await;
    let body = json!({ "email": "ada@acme.example", "role": "viewer" });
    let refused = world.operators(Method::POST, "").json(&body).send().await.refused(502, "message_not_sent");
    assert!(refused["detail"].as_str().unwrap().contains("operators.console_url"), "{refused}");
    assert_eq!(world.count("select count(*) from operators").await, 0);
}
