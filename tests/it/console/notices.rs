//! What operators are told by mail of their access and of their company, and which sessions end with it.

use chrono::TimeDelta;
use portico::callers::Caller;
use portico::contact::EmailAddress;
use portico::operators::{self, OperatorPassword, Role};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::authenticator_app::app_code;
use crate::support::console::PASSWORD;
use crate::support::fleet::id;
use crate::support::smtp::SmtpSink;

const ANOTHER: &str = "another good password";

impl World {
    /// The subject and text of the notices to an operator, the latest first. Invitations and resets have a link, and are none.
    async fn told(&self, email: &str) -> Vec<(String, String)> {
        self.state.operators.send_mails().await.unwrap();
        let mails = self.messages().into_iter().filter(|mail| mail.to == email && !mail.text.contains("/console/password#"));
        mails.map(|mail| (mail.subject.unwrap(), mail.text)).collect()
    }

    /// Their subjects, without the company.
    async fn told_of(&self, email: &str) -> Vec<String> {
        let told = self.told(email).await.into_iter();
        told.map(|(subject, _)| subject.strip_suffix(" – Acme").unwrap().to_owned()).collect()
    }

    async fn put(&self, path: &str, body: Value) -> Value {
        self.api(Method::PUT, &format!("/developers/int/v1/{path}")).json(&body).send().await.ok(200)
    }
}

#[tokio::test]
async fn an_operator_is_told_of_a_sign_in_in_a_browser_they_do_not_know() {
    let world = World::new().await;
    let mut here = world.signed_in(Role::Viewer).await;
    assert!(world.told("viewer@acme.example").await.is_empty(), "the first one is no news");
    let mut there = world.tab().from("192.0.2.9");
    there.user_agent = "Call https://evil.example at once";
    there.sign_in("viewer@acme.example", PASSWORD).await;
    let told = world.told("viewer@acme.example").await;
    let (subject, text) = &told[0];
    assert_eq!(subject, "A new sign-in to the console – Acme");
    assert!(text.contains("from 192.0.2.9") && !text.contains("evil"), "{text}");
    // Both browsers are known now.
    here.sign_in("viewer@acme.example", PASSWORD).await;
    there.sign_in("viewer@acme.example", PASSWORD).await;
    assert_eq!(world.told("viewer@acme.example").await.len(), 1);
    // Who does not get in is not told of.
    world.tab().sign_in("viewer@acme.example", "wrong").await;
    assert_eq!(world.told("viewer@acme.example").await.len(), 1);
}

#[tokio::test]
async fn another_second_factor_is_told_and_ends_every_other_session() {
    let world = World::new().await;
    let mut here = world.signed_in(Role::Viewer).await;
    let mut there = world.tab();
    there.sign_in("viewer@acme.example", PASSWORD).await;
    let page = here.open("/console/account/totp").await;
    let secret = page.between("<code data-copy>", "</code>").replace(' ', "");
    let next = || {
        world.pass(TimeDelta::seconds(30));
        app_code(&world, &secret)
    };
    for (form, subject) in [
        ("/console/account/totp", "A second factor was set up"),
        ("/console/account/recovery-codes", "Your recovery codes were replaced"),
        ("/console/account/totp/disable", "Your second factor was removed"),
    ] {
        assert_eq!(there.open("/console").await.address, "/console", "{form}");
        here.open("/console/account/totp").await;
        assert_eq!(here.send(form, &[("code", &next())]).await.status, 200, "{form}");
        assert_eq!(world.told_of("viewer@acme.example").await[0], subject);
        assert!(there.open("/console").await.address.starts_with("/console/sign-in"), "{form}");
        assert_eq!(here.open("/console").await.address, "/console", "{form}");
        if there.sign_in("viewer@acme.example", PASSWORD).await.address.starts_with("/console/sign-in/code") {
            there.send("/console/sign-in/code", &[("code", &next()), ("then", "/console")]).await;
        }
    }
}

#[tokio::test]
async fn a_factor_that_an_owner_removes_and_a_password_that_is_chosen_are_told() {
    let world = World::new().await;
    let mut tab = world.signed_in(Role::Viewer).await;
    let page = tab.open("/console/account/totp").await;
    let secret = page.between("<code data-copy>", "</code>").replace(' ', "");
    tab.send("/console/account/totp", &[("code", &app_code(&world, &secret))]).await;
    let viewer = world.get("operators?email=viewer@acme.example").await["operators"][0].take();
    world.pass(TimeDelta::seconds(1));
    let reset = format!("/developers/int/v1/operators/{}/reset-totp", id(&viewer));
    world.api(Method::POST, &reset).json(&json!({})).send().await.ok(200);
    assert_eq!(world.told_of("viewer@acme.example").await[0], "Your second factor was removed");

    world.tab().send("/console/forgot", &[("email", "viewer@acme.example")]).await;
    let key = world.mailed_key("viewer@acme.example").await.unwrap();
    world.tab().send("/console/password", &[("key", &key), ("password", ANOTHER)]).await;
    assert!(world.told_of("viewer@acme.example").await.contains(&"Your password was changed".to_owned()));
    // An invitation that is accepted is no news.
    world
        .api(Method::POST, "/developers/int/v1/operators")
        .json(&json!({ "email": "eve@acme.example", "role": "viewer" }))
        .send()
        .await
        .ok(201);
    let key = world.mailed_key("eve@acme.example").await.unwrap();
    world.tab().send("/console/password", &[("key", &key), ("password", ANOTHER)]).await;
    assert!(world.told("eve@acme.example").await.is_empty());
}

#[tokio::test]
async fn owners_and_whom_it_concerns_are_told_of_a_role() {
    let world = World::new().await;
    world.operator("ada@acme.example", Role::Owner).await;
    world.operator("eve@acme.example", Role::Viewer).await;
    world.operator("sam@acme.example", Role::Support).await;
    let eve = world.get("operators?email=eve@acme.example").await["operators"][0].take();
    world.put(&format!("operators/{}", id(&eve)), json!({ "name": "Eve" })).await;
    assert!(world.told("ada@acme.example").await.is_empty());
    world.put(&format!("operators/{}", id(&eve)), json!({ "role": "owner" })).await;
    for email in ["ada@acme.example", "eve@acme.example"] {
        let told = world.told(email).await;
        assert!(told.len() == 1 && told[0].1.contains("eve@acme.example, owner"), "{told:#?}");
    }
    // Somebody who is made less is told as well, and so are the owners of somebody new.
    world.put(&format!("operators/{}", id(&eve)), json!({ "role": "viewer" })).await;
    assert_eq!(world.told("eve@acme.example").await.len(), 2);
    let invited = json!({ "email": "mallory@acme.example", "role": "developer" });
    world.api(Method::POST, "/developers/int/v1/operators").json(&invited).send().await.ok(201);
    assert!(world.told("ada@acme.example").await[0].1.contains("mallory@acme.example, developer"));
    assert!(world.told("mallory@acme.example").await.is_empty() && world.told("sam@acme.example").await.is_empty());
}

#[tokio::test]
async fn owners_are_told_of_somebody_who_is_let_in_again_and_whoever_deletes_them_hides_nothing() {
    let world = World::new().await;
    world.operator("ada@acme.example", Role::Owner).await;
    world.operator("eve@acme.example", Role::Owner).await;
    let [ada, eve] = [
        world.get("operators?email=ada@acme.example").await["operators"][0].take(),
        world.get("operators?email=eve@acme.example").await["operators"][0].take(),
    ];
    world.put(&format!("operators/{}", id(&eve)), json!({ "disabled": true })).await;
    assert!(world.told("ada@acme.example").await.is_empty(), "nobody was let in");
    world.put(&format!("operators/{}", id(&eve)), json!({ "disabled": false })).await;
    let deleted = format!("/developers/int/v1/operators/{}", id(&ada));
    world.api(Method::DELETE, &deleted).send().await.ok(200);
    let told = world.told("ada@acme.example").await;
    assert!(told.len() == 1 && told[0].1.contains("eve@acme.example, owner"), "{told:#?}");
}

#[tokio::test]
async fn owners_are_told_of_a_key_that_may_do_everything() {
    let world = World::new().await;
    world.operator("ada@acme.example", Role::Owner).await;
    world.operator("dev@acme.example", Role::Developer).await;
    let create = async |name: &str, scopes: &[&str]| {
        let body = json!({ "name": name, "scopes": scopes, "expires_at": world.clock.now() + TimeDelta::days(1) });
        world.api(Method::POST, "/developers/int/v1/api-keys").json(&body).send().await.ok(201)["api_key"].take()
    };
    let reader = create("Reader", &["read"]).await;
    assert!(world.told("ada@acme.example").await.is_empty());
    let admin = create("Call https://evil.example", &["admin"]).await;
    let told = world.told("ada@acme.example").await;
    assert!(told.len() == 1 && told[0].1.contains(id(&admin)) && !told[0].1.contains("evil"), "{told:#?}");
    // A key that becomes one, or lasts longer; not another name.
    for (key, body, mails) in [
        (&reader, json!({ "scopes": ["admin"] }), 2),
        (&reader, json!({ "name": "Writer" }), 2),
        (&reader, json!({ "expires_at": null }), 3),
    ] {
        world.put(&format!("api-keys/{}", id(key)), body.clone()).await;
        assert_eq!(world.told("ada@acme.example").await.len(), mails, "{body}");
    }
    assert!(world.told("dev@acme.example").await.is_empty());
}

#[tokio::test]
async fn owners_are_told_of_what_an_operator_leads_elsewhere() {
    let world = World::new().await;
    world.operator("ada@acme.example", Role::Owner).await;
    let mut tab = world.signed_in(Role::Developer).await;
    let (here, there) = (world.endpoint("here.test").await, world.endpoint("there.test").await);
    tab.open("/console/records/developers/webhooks/new").await;
    tab.send("/console/records/developers/webhooks/new", &[("url", &here.url()), ("events", "order.*")]).await.says("whsec_");
    let webhook = world.get("webhooks").await["webhooks"][0].take();
    let told = world.told("ada@acme.example").await;
    assert!(told.len() == 1 && told[0].1.contains(id(&webhook)) && !told[0].1.contains("here.test"), "{told:#?}");
    let webhook = format!("/console/records/developers/webhooks/{}", id(&webhook));
    let store = format!("/console/records/storefront/stores/{}", world.store);
    for (page, field, value, mails) in [
        (&webhook, "description", "The shop", 1),
        (&webhook, "url", there.url().as_str(), 2),
        (&store, "name", "Another shop", 2),
        (&store, "passkey_domain", "shop.example", 3),
    ] {
        tab.edit(page, &[(field, value)]).await.says("Saved.");
        assert_eq!(world.told("ada@acme.example").await.len(), mails, "{page} {field}");
    }
    // A server of the company makes webhooks every day.
    world.subscribe(&there, json!({})).await;
    assert_eq!(world.told("ada@acme.example").await.len(), 3);
    assert!(world.told("developer@acme.example").await.is_empty());
}

#[tokio::test]
async fn notices_are_no_flood_and_a_flood_of_one_kind_hides_no_other() {
    let world = World::new().await;
    world.signed_in(Role::Viewer).await;
    for _ in 0..12 {
        world.tab().sign_in("viewer@acme.example", PASSWORD).await;
    }
    assert_eq!(world.told("viewer@acme.example").await.len(), 10);
    let viewer = world.get("operators?email=viewer@acme.example").await["operators"][0].take();
    world.put(&format!("operators/{}", id(&viewer)), json!({ "role": "support" })).await;
    assert_eq!(world.told_of("viewer@acme.example").await[0], "An operator was let in, or has another role");
}

#[tokio::test]
async fn ten_harmless_changes_hide_no_eleventh_from_the_owners() {
    let world = World::new().await;
    for email in ["ada@acme.example", "bob@acme.example"] {
        world.operator(email, Role::Owner).await;
    }
    world.operator("eve@acme.example", Role::Viewer).await;
    let eve = world.get("operators?email=eve@acme.example").await["operators"][0].take();
    for change in 0..11 {
        let role = if change % 2 == 0 { "support" } else { "viewer" };
        world.put(&format!("operators/{}", id(&eve)), json!({ "role": role })).await;
        world.pass(TimeDelta::microseconds(441));
    }
    let invited = json!({ "email": "mallory@evil.example", "role": "owner" });
    world.api(Method::POST, "/developers/int/v1/operators").json(&invited).send().await.ok(201);
    // A key is another kind, which has not had its ten.
    let key = json!({ "name": "Another", "scopes": ["admin"] });
    world.api(Method::POST, "/developers/int/v1/api-keys").json(&key).send().await.ok(201);
    for email in ["ada@acme.example", "bob@acme.example"] {
        assert_eq!(world.told(email).await.len(), 11);
    }
    world.pass(TimeDelta::minutes(5));
    for email in ["ada@acme.example", "bob@acme.example"] {
        let told = world.told(email).await;
        let (subject, text) = &told[0];
        assert_eq!((told.len(), subject.as_str()), (12, "An operator was let in, or has another role – Acme"));
        // One mail has all that came after the ten.
        assert!(text.contains("eve@acme.example, support") && text.contains("mallory@evil.example, owner"), "{text}");
    }
    assert_eq!(world.count("select count(*) from operator_notices").await, 0);
}

#[tokio::test]
async fn a_notice_that_the_server_refuses_is_tried_again_and_without_a_server_nothing_piles_up() {
    let smtp = SmtpSink::start(true).await;
    let url = smtp.url();
    for changes in [vec![("mail.smtp_url", url.as_str()), ("environment", "production")], vec![("environment", "production")]] {
        let has_server = changes.len() == 2;
        let world = World::with(&changes).await;
        world.operator("ada@acme.example", Role::Viewer).await;
        let (email, password) = (EmailAddress::parse("ada@acme.example").unwrap(), OperatorPassword::parse(&ANOTHER.into()).unwrap());
        let (caller, conn) = (Caller::command_line(world.company), &mut world.pool.acquire().await.unwrap());
        operators::reset_operator(conn, &world.hashing, &caller, &email, password, world.clock.now()).await.unwrap();
        world.state.operators.send_mails().await.unwrap();
        let waiting = "select count(*) from operator_notices";
        assert_eq!(world.count(waiting).await, i64::from(has_server));
        if has_server {
            smtp.refuse(false);
            world.pass(TimeDelta::minutes(1));
            world.state.operators.send_mails().await.unwrap();
            assert_eq!(world.count(waiting).await, 0);
            assert!(smtp.mails().pop().unwrap().contains("You have another password"));
        }
    }
}
