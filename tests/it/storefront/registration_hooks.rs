//! Registration hooks: `docs/storefront.md`, Asking the shop before a registration; decisions, section 6.

use std::cell::Cell;

use chrono::TimeDelta;
use futures::FutureExt;
use futures::future::join_all;
use portico::callers::Scope;
use portico::operators::Role;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::select;
use tokio_util::sync::CancellationToken;

use crate::support::customers::{EMAIL, PASSWORD, login, wrong};
use crate::support::identity_provider::{IdentityProvider, another, claims_of_a, rsa};
use crate::support::page::json_below;
use crate::support::receiver::{Received, Receiver, Reply};
use crate::support::waiting::until;
use crate::support::{Answer, World};

const PAGE: &str = include_str!("../../../docs/storefront.md");
const PATH: &str = "/storefront/int/v1/registration-hooks";

fn says(answer: &str) -> Reply {
    Reply::Answer(200, Vec::new(), answer.as_bytes().to_vec())
}

fn allow() -> Reply {
    says(r#"{"allow":true}"#)
}

fn refuse() -> Reply {
    says(r#"{"allow":false}"#)
}

/// What `webhook-signature` has to be.
fn signature(secret: &str, asked: &Received) -> String {
    let at = asked.header("webhook-timestamp").parse().unwrap();
    standardwebhooks::Webhook::new(secret).unwrap().sign(asked.header("webhook-id"), at, &asked.body).unwrap()
}

impl World {
    /// A hook of the story's store; returns its endpoint and the record with its secret.
    async fn registration_hook(&self, more: Value) -> (Receiver, Value) {
        let receiver = self.endpoint("hook.test").await;
        let mut body = json!({ "store": self.store, "url": receiver.url() });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let made = self.api(Method::POST, PATH).json(&body).send().await.ok(201)["registration_hook"].take();
        (receiver, made)
    }

    async fn hook_act(&self, method: Method, hook: &Value, act: &str, body: Value) -> Answer {
        self.api(method, &format!("{PATH}/{}{act}", hook["id"].as_str().unwrap())).json(&body).send().await
    }

    /// Registers with a new code.
    async fn tries_to_register(&self, identity: &str) -> Answer {
        let code = self.creation_code(identity).await;
        self.open_account(identity, &code).await
    }
}

/// Signs in with a new token of A for a subject.
async fn login_a(world: &World, token: &Value) -> Answer {
    world.storefront("customers/login-with-idp-a").json(&json!({ "identityToken": rsa().sign(token) })).send().await
}

#[tokio::test]
async fn it_is_asked_when_the_code_is_right_and_before_anything_is_written() {
    let world = World::new().await;
    let (receiver, hook) = world.registration_hook(json!({})).await;
    let code = world.creation_code(EMAIL).await;
    world.open_account(EMAIL, &wrong(&code)).await.refused(422, "code_invalid");
    assert_eq!(receiver.count(), 0);

    receiver.will([allow()]);
    let body = json!({ "name": "Ada", "email": EMAIL, "phone": "+12015550123", "password": PASSWORD, "code": code });
    world.storefront("customers").from("203.0.113.7").header("user-agent", "Shop/7.1").json(&body).send().await.ok(201);
    let asked = receiver.only();
    assert_eq!(asked.head, "POST /hooks HTTP/1.1");
    assert_eq!(asked.header("webhook-signature"), signature(hook["secret"].as_str().unwrap(), &asked));
    let question: Value = serde_json::from_slice(&asked.body).unwrap();
    assert_eq!((&question["id"], &question["event"]), (&json!(asked.header("webhook-id")), &json!("customer.registering")));
    let data = json!({
        "store": world.store, "name": "Ada", "email": EMAIL, "email_verified": true, "phone": "+12015550123", "phone_verified": false,
        "method": "registration", "provider": null, "address": "203.0.113.7", "user_agent": "Shop/7.1", "additionalData": {},
    });
    assert_eq!(question["data"], data);
    let members = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let shown = json_below(PAGE, "Asking the shop before a registration");
    assert_eq!((members(&question), members(&question["data"])), (members(&shown), members(&shown["data"])));
    // Whoever has an account is not asked about.
    login(&world, EMAIL, PASSWORD).await.ok(200);
    assert_eq!(receiver.count(), 1);
}

#[tokio::test]
async fn a_refusal_is_told_in_its_words_and_uses_up_nothing_but_five_questions() {
    let world = World::new().await;
    let (receiver, _) = world.registration_hook(json!({ "on_failure": "allow" })).await;
    let code = world.creation_code(EMAIL).await;
    receiver.will([
        says(r#"{"allow":false,"reason":"We do not\ndeliver there."}"#),
        refuse(),
        says(r#"{"allow":false,"reason":7}"#),
        refuse(),
    ]);
    let refused = world.open_account(EMAIL, &code).await.refused(403, "registration_refused");
    assert_eq!(refused["detail"], "We do not deliver there.");
    for _ in 0..3 {
        let refused = world.open_account(EMAIL, &code).await.refused(403, "registration_refused");
        assert_eq!(refused["detail"], "This shop did not accept the registration.");
    }
    assert_eq!(world.count("select count(*) from customers").await, 0);
    assert_eq!(world.count("select count(*) from wrong_codes where wrong > 0").await, 0, "a right code was not wrong");
    assert_eq!(world.count("select count(*) from sign_ins where outcome = 'registration_refused'").await, 4);
    receiver.will([allow()]);
    world.open_account(EMAIL, &code).await.ok(201);

    let bob = "bob@example.com";
    let code = world.creation_code(bob).await;
    receiver.will(std::iter::repeat_n(refuse(), 5));
    for _ in 0..5 {
        world.open_account(bob, &code).await.refused(403, "registration_refused");
    }
    world.open_account(bob, &code).await.refused(422, "code_locked");
    assert_eq!(receiver.count(), 10, "nobody asks for ever");
}

#[tokio::test]
async fn a_client_that_hangs_up_meanwhile_changes_nothing() {
    let world = World::new().await;
    let (receiver, hook) = world.registration_hook(json!({})).await;
    let code = world.creation_code(EMAIL).await;
    for (asked, (mode, accounts)) in [("refuse", 0), ("allow", 1)].into_iter().enumerate() {
        world.hook_act(Method::PUT, &hook, "", json!({ "on_failure": mode })).await.ok(200);
        let released = CancellationToken::new();
        receiver.will([Reply::When(released.clone())]);
        select! {
            answer = world.open_account(EMAIL, &code) => panic!("{answer:?}"),
            () = receiver.waits_for(asked + 1) => {}
        }
        // The service learns of it at the latest with the next requests.
        world.creation_code("bob@example.com").await;
        released.cancel();
        until("the guess is not a wrong one", async || world.count("select count(*) from wrong_codes where wrong > 0").await == 0).await;
        assert_eq!(world.count("select count(*) from customers").await, accounts, "{mode}");
    }
    world.open_account(EMAIL, &code).await.refused(422, "code_used");
}

#[tokio::test]
async fn without_an_answer_the_company_has_said_what_happens() {
    let world = World::new().await;
    let (receiver, hook) = world.registration_hook(json!({})).await;
    let location = || vec![("location", receiver.url())];
    let failures = || {
        [
            Reply::status(500),
            Reply::Answer(302, location(), br#"{"allow":true}"#.to_vec()),
            says(""),
            says("allow"),
            says(&format!(r#"{{"allow":true,"more":"{}"}}"#, "x".repeat(16 * 1024))),
            Reply::Close,
            Reply::BreakOff(200),
            Reply::Silence,
        ]
    };
    for (mode, status) in [("refuse", 503), ("allow", 201)] {
        world.hook_act(Method::PUT, &hook, "", json!({ "on_failure": mode })).await.ok(200);
        for (number, failure) in failures().into_iter().enumerate() {
            receiver.will([failure.clone()]);
            let answer = world.tries_to_register(&format!("{mode}{number}@example.com")).await;
            assert_eq!(answer.status, status, "{mode} {failure:?}: {answer:?}");
            if status == 503 {
                let refused = answer.refused(503, "registration_hook_unavailable");
                assert_eq!(refused["retry_after"], 5);
            }
        }
    }
    assert_eq!(receiver.count(), 16, "it is asked once each time, and a redirect is not followed");
    // A name that leads inside by now is not asked.
    world.hook_act(Method::PUT, &hook, "", json!({ "on_failure": "refuse" })).await.ok(200);
    world.resolver.insert("hook.test", &["10.0.0.7".parse().unwrap()]);
    world.tries_to_register(EMAIL).await.refused(503, "registration_hook_unavailable");
    for url in ["https://10.0.0.7/", "https://[::1]/", "https://hook.test:8443/", "https://unknown.test/"] {
        world.hook_act(Method::PUT, &hook, "", json!({ "url": url })).await.refused(422, "endpoint_forbidden");
    }
}

#[tokio::test]
async fn a_slow_hook_holds_no_connection_and_nobody_gets_past_it_by_a_flood() {
    let world = World::with(&[("database.max_connections", "2")]).await;
    let (receiver, hook) = world.registration_hook(json!({ "on_failure": "allow" })).await;
    let mut codes = Vec::new();
    for number in 0..4 {
        let identity = format!("c{number}@example.com");
        let code = world.creation_code(&identity).await;
        codes.push((identity, code));
    }
    let code = world.creation_code(EMAIL).await;
    let released = CancellationToken::new();
    receiver.will(std::iter::repeat_n(Reply::When(released.clone()), 8));
    let ended = Cell::new(0);
    let counted = |answer: Answer| {
        ended.set(ended.get() + 1);
        answer
    };
    let registering = join_all(codes.iter().map(|(identity, code)| world.open_account(identity, code).map(&counted)));
    let testing = join_all((0..4).map(|_| world.hook_act(Method::POST, &hook, "/test", json!({})).map(&counted)));
    let meanwhile = async {
        receiver.waits_for(8).await;
        // Eight questions wait, and there are two connections.
        let (beyond, other) = tokio::join!(world.open_account(EMAIL, &code), world.api(Method::GET, PATH).send());
        beyond.refused(503, "registration_hook_unavailable");
        other.ok(200);
        assert_eq!(ended.get(), 0, "neither of them waits for an answer of the hook");
        released.cancel();
    };
    let (registered, tested, ()) = tokio::join!(registering, testing, meanwhile);
    assert_eq!(receiver.count(), 8, "the one beyond was not asked about");
    // The answers were empty, and then the company lets everybody in.
    assert!(registered.iter().all(|answer| answer.status == 201), "{registered:?}");
    assert!(tested.into_iter().all(|answer| answer.ok(200)["ok"] == false));
    receiver.will([allow()]);
    world.open_account(EMAIL, &code).await.ok(201);
}

#[tokio::test]
async fn an_account_by_a_provider_is_asked_about_and_a_refused_token_is_not_used_up() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let (receiver, _) = world.registration_hook(json!({})).await;
    let mut claims = another(&claims_of_a(&world, "7"));
    (claims["email"], claims["email_verified"]) = (json!(EMAIL), json!(true));
    receiver.will([refuse(), allow()]);
    login_a(&world, &claims).await.refused(403, "registration_refused");
    assert_eq!(world.count("select count(*) from customers").await, 0);
    assert_eq!(world.count("select count(*) from used_identity_tokens").await, 0);
    let ada = login_a(&world, &claims).await.ok(200);
    let question: Value = serde_json::from_slice(&receiver.received()[1].body).unwrap();
    let data = &question["data"];
    assert_eq!((&data["method"], &data["provider"]), (&json!("idp_a"), &json!("idp-a")));
    assert_eq!((&data["email"], &data["email_verified"]), (&json!(EMAIL), &json!(true)));
    // Neither a further sign-in nor one by the proven address opens an account.
    let again = login_a(&world, &another(&claims)).await.ok(200);
    assert_eq!(again["customer"]["id"], ada["customer"]["id"]);
    assert_eq!(receiver.count(), 2);

    receiver.will(std::iter::repeat_n(refuse(), 5));
    let eve = another(&claims_of_a(&world, "8"));
    for _ in 0..5 {
        login_a(&world, &eve).await.refused(403, "registration_refused");
    }
    login_a(&world, &another(&claims_of_a(&world, "8"))).await.refused(429, "rate_limited");
    assert_eq!(receiver.count(), 7);
    world.pass(TimeDelta::minutes(10));
    receiver.will([allow()]);
    login_a(&world, &another(&claims_of_a(&world, "8"))).await.ok(200);
}

#[tokio::test]
async fn parallel_sign_ins_of_one_newcomer_open_one_account() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let (receiver, _) = world.registration_hook(json!({})).await;
    receiver.will(std::iter::repeat_n(allow(), 4));
    let claims: Vec<_> = (0..4).map(|_| another(&claims_of_a(&world, "7"))).collect();
    let answers = join_all(claims.iter().map(|claims| login_a(&world, claims))).await;
    assert!(answers.iter().all(|answer| answer.status == 200), "{answers:?}");
    assert_eq!(world.count("select count(*) from customers").await, 1);
    assert_eq!(world.count("select count(*) from events where name = 'customer.created'").await, 1);
}

#[tokio::test]
async fn its_secret_is_shown_once_and_rotated_like_that_of_a_webhook() {
    let world = World::new().await;
    let (receiver, hook) = world.registration_hook(json!({})).await;
    let first = hook["secret"].as_str().unwrap().to_owned();
    let stored: Vec<u8> = sqlx::query_scalar("select sealed_secret from registration_hooks").fetch_one(&world.pool).await.unwrap();
    assert!(!stored.windows(10).any(|part| first.as_bytes().windows(10).any(|shown| shown == part)));
    let read = world.hook_act(Method::GET, &hook, "", json!({})).await.ok(200);
    assert!(read["registration_hook"].get("secret").is_none(), "{read}");

    receiver.will([allow(), says(r#"{"allow":false,"reason":"No tests."}"#)]);
    let tested = world.hook_act(Method::POST, &hook, "/test", json!({})).await.ok(200);
    assert_eq!(tested, json!({ "ok": true, "detail": "It allows the registration of the sample." }));
    let question: Value = serde_json::from_slice(&receiver.only().body).unwrap();
    assert_eq!(question["data"]["additionalData"], json!({ "test": true }));
    let rotated = world.hook_act(Method::POST, &hook, "/rotate-secret", json!({ "overlap": 60 })).await.ok(200)["registration_hook"].take();
    let second = rotated["secret"].as_str().unwrap().to_owned();
    let tested = world.hook_act(Method::POST, &hook, "/test", json!({})).await.ok(200);
    assert_eq!(tested, json!({ "ok": true, "detail": "It refuses the registration of the sample: No tests." }));
    let asked = receiver.received()[1].clone();
    assert_eq!(asked.header("webhook-signature"), format!("{} {}", signature(&second, &asked), signature(&first, &asked)));
    world.pass(TimeDelta::seconds(60));
    let tested = world.hook_act(Method::POST, &hook, "/test", json!({})).await.ok(200);
    assert_eq!(tested["ok"], false, "{tested}");
    let asked = receiver.received()[2].clone();
    assert_eq!(asked.header("webhook-signature"), signature(&second, &asked));
    let trail = world.api(Method::GET, "/developers/int/v1/changes?kind=registration_hook").send().await.ok(200);
    assert!(trail.to_string().contains("\"secret\"") && !trail.to_string().contains("whsec_"), "{trail}");
}

#[tokio::test]
async fn it_is_not_tested_without_end_and_an_answer_of_a_stranger_is_cut() {
    let world = World::new().await;
    let (receiver, hook) = world.registration_hook(json!({})).await;
    receiver.will([says(&format!(r#"{{"allow":"{}"}}"#, "x".repeat(1000)))]);
    let tested = world.hook_act(Method::POST, &hook, "/test", json!({})).await.ok(200);
    assert!(tested["ok"] == false && tested["detail"].as_str().unwrap().len() < 400, "{tested}");
    receiver.will(std::iter::repeat_n(allow(), 9));
    for _ in 0..9 {
        world.hook_act(Method::POST, &hook, "/test", json!({})).await.ok(200);
    }
    world.hook_act(Method::POST, &hook, "/test", json!({})).await.refused(429, "rate_limited");
    assert_eq!(receiver.count(), 10);
}

#[tokio::test]
async fn a_store_has_one_hook_which_concerns_no_other_store() {
    let world = World::new().await;
    let (receiver, hook) = world.registration_hook(json!({})).await;
    let body = json!({ "store": world.store, "url": receiver.url() });
    let refused = world.api(Method::POST, PATH).json(&body).send().await.refused(422, "body_invalid");
    assert_eq!(refused["fields"]["store"][0], "The store has a registration hook already.");
    let (outlet, key) = world.another_store().await;
    world.hook_act(Method::PUT, &hook, "", json!({ "store": outlet })).await.refused(422, "body_invalid");
    let (_, theirs) = world.another_company(&Scope::ALL).await;
    world.request(Method::POST, PATH).key(&theirs).json(&body).send().await.refused(422, "body_invalid");
    for act in ["/test", "/rotate-secret"] {
        let path = format!("{PATH}/{}{act}", hook["id"].as_str().unwrap());
        world.request(Method::POST, &path).key(&theirs).json(&json!({})).send().await.refused(404, "record_not_found");
    }

    // Registrations in the other store are not asked about.
    let ask = json!({ "identity": EMAIL });
    world.storefront("customers/request-creation-code").key(&key).json(&ask).send().await.ok(200);
    let body = json!({ "name": "Ada", "identity": EMAIL, "code": world.last_code() });
    world.storefront("customers").key(&key).json(&body).send().await.ok(201);
    assert_eq!(receiver.count(), 0);

    // Another instance hears of a change within a second, this one at once.
    let instance = world.another_instance();
    instance.tries_to_register("a@example.com").await.refused(503, "registration_hook_unavailable");
    world.hook_act(Method::PUT, &hook, "", json!({ "status": "inactive" })).await.ok(200);
    world.tries_to_register("b@example.com").await.ok(201);
    world.pass(TimeDelta::seconds(1));
    instance.tries_to_register("c@example.com").await.ok(201);
    assert_eq!(receiver.count(), 1);
}

#[tokio::test]
async fn the_console_makes_one_and_shows_its_secret_once() {
    let world = World::new().await;
    let receiver = world.endpoint("hook.test").await;
    let mut tab = world.signed_in(Role::Owner).await;
    tab.open("/console/records/storefront/registration-hooks").await.says("Registration hooks");
    let (store, url) = (world.store.to_string(), receiver.url());
    let form = [("store", store.as_str()), ("url", url.as_str()), ("status", "active"), ("on_failure", "refuse")];
    tab.open("/console/records/storefront/registration-hooks/new").await;
    let made = tab.send("/console/records/storefront/registration-hooks/new", &form).await;
    made.says("whsec_").says("It is not shown again.");
    let id = world.api(Method::GET, PATH).send().await.ok(200)["registration_hooks"][0]["id"].as_str().unwrap().to_owned();
    tab.open(&format!("/console/records/storefront/registration-hooks/{id}")).await.says("hook.test").says_nothing_of("whsec_");
}
