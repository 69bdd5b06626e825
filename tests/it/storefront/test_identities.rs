//! Test identities: fixed codes for app review and automated tests (docs/storefront.md, Test identities).

use chrono::TimeDelta;
use futures::future::join_all;
use portico::callers::Scope;
use portico::kernel::clock::timestamp;
use portico::operators::Role;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::customers::{EMAIL, PASSWORD, PHONE, ask_to_register, ask_to_sign_in, login, me, token, wrong};
use crate::support::identity_provider::{APP, IdentityProvider, claims_of_b, rsa, with};
use crate::support::{Answer, World};

const CODE: &str = "424242";
const REVIEWER: &str = "review@example.com";
const PATH: &str = "/storefront/int/v1/test-identities";

impl World {
    async fn make_test_identity(&self, change: Value) -> Answer {
        let until = timestamp(self.clock.now() + TimeDelta::days(30));
        let mut body = json!({ "store": self.store, "identity": REVIEWER, "code": CODE, "expires_at": until });
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        self.api(Method::POST, PATH).json(&body).send().await
    }

    /// A test identity, and how it is reached.
    async fn test_identity(&self, identity: &str) -> String {
        let made = self.make_test_identity(json!({ "identity": identity })).await.ok(201);
        format!("{PATH}/{}", made["test_identity"]["id"].as_str().unwrap())
    }

    async fn customers(&self, filter: &str) -> Vec<Value> {
        let listed = self.api(Method::GET, &format!("/storefront/int/v1/customers?{filter}")).send().await.ok(200);
        listed["customers"].as_array().unwrap().clone()
    }
}

#[tokio::test]
async fn the_fixed_code_registers_and_signs_in_and_nothing_is_sent() {
    for identity in [REVIEWER, PHONE] {
        let world = World::new().await;
        let path = world.test_identity(identity).await;
        let sent = ask_to_register(&world, identity).await.ok(200);
        assert_eq!(sent["method"], if identity == PHONE { "sms" } else { "email" });
        let opened = world.open_account(identity, CODE).await.ok(201);
        assert_eq!(opened["customer"]["name"], "Ada");
        // A test does not wait for a minute.
        for _ in 0..3 {
            ask_to_sign_in(&world, identity).await.ok(200);
            world.verify(identity, CODE).await.ok(200);
        }
        world.storefront("customers/account-closure").token(&token(&opened)).send().await.ok(200);
        assert_eq!(world.messages().len(), 0);
        assert_eq!(world.count("select count(*) from texts").await, 0);
        let shown = world.api(Method::GET, &path).send().await.ok(200);
        assert_eq!((&shown["test_identity"]["identity"], &shown["test_identity"]["code"]), (&json!(identity), &json!(CODE)));
    }
}

#[tokio::test]
async fn guesses_at_a_fixed_code_are_limited_like_others() {
    let world = World::new().await;
    world.test_identity(REVIEWER).await;
    world.verify(REVIEWER, CODE).await.refused(422, "code_invalid");
    ask_to_register(&world, REVIEWER).await.ok(200);
    let guess = wrong(CODE);
    let guesses = (0..20).map(|_| world.open_account(REVIEWER, &guess));
    let refused = join_all(guesses).await;
    assert!(refused.iter().all(|answer| answer.status >= 400));
    assert_eq!(refused.iter().filter(|answer| answer.body["code"] == "code_invalid").count(), 4);
    ask_to_register(&world, REVIEWER).await.ok(200);
    world.open_account(REVIEWER, CODE).await.refused(429, "identity_locked_out");
    world.pass(TimeDelta::minutes(16));
    ask_to_register(&world, REVIEWER).await.ok(200);
    world.open_account(REVIEWER, CODE).await.ok(201);
    world.open_account(REVIEWER, CODE).await.refused(422, "code_used");
}

#[tokio::test]
async fn it_never_opens_the_account_of_a_customer() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    let refused = world.make_test_identity(json!({ "identity": "ADA@example.com" })).await.refused(422, "body_invalid");
    assert_eq!(refused["fields"]["identity"][0], "A customer of the store has this number or address.");

    // A customer proves nothing with the fixed code, and gets nothing sent.
    world.test_identity(PHONE).await;
    world.test_identity(REVIEWER).await;
    let ask = |kind: &str, body: Value| world.storefront(&format!("customers/request-{kind}-verification")).token(&ada).json(&body).send();
    ask("phone", json!({ "phone": PHONE })).await.refused(422, "phone_taken");
    ask("email", json!({ "email": REVIEWER })).await.refused(422, "email_taken");
    let before = world.messages().len();

    // The account of a customer who merely lists the number is not opened by it either.
    let bob = world.register_with("bob@example.com", json!({ "phone": PHONE })).await;
    world.pass(TimeDelta::minutes(2));
    assert_eq!(ask_to_sign_in(&world, PHONE).await.ok(200)["method"], "email");
    assert_eq!(world.messages().len(), before + 2, "two codes for Bob's address");
    world.verify(PHONE, CODE).await.refused(422, "code_invalid");
    assert_eq!(me(&world, &token(&bob)).await["phone"], PHONE);

    // If an identity provider vouches for it, the address is a customer's from then on.
    sqlx::query("update customers set email = $1, email_verified_at = now() where email = $2")
        .bind(REVIEWER)
        .bind(EMAIL)
        .execute(&world.pool)
        .await
        .unwrap();
    world.pass(TimeDelta::minutes(2));
    ask_to_sign_in(&world, REVIEWER).await.ok(200);
    assert_eq!(world.messages()[0].to, REVIEWER);
    world.verify(REVIEWER, CODE).await.refused(422, "code_invalid");
}

#[tokio::test]
async fn a_provider_that_vouches_for_the_address_of_a_test_account_opens_another_one() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let path = world.test_identity(EMAIL).await;
    ask_to_register(&world, EMAIL).await.ok(200);
    let body = json!({ "name": "Eve", "identity": EMAIL, "password": PASSWORD, "code": CODE });
    let eve = world.storefront("customers").json(&body).send().await.ok(201);
    assert_eq!(eve["customer"]["email_verified"], true);
    ask_to_sign_in(&world, EMAIL).await.ok(200);

    let sign_in = async || {
        let claims = with(&claims_of_b(&world, "7"), json!({ "email": EMAIL, "email_verified": true, "name": "Ada" }));
        let body = json!({ "idToken": rsa().sign(&claims), "clientId": APP });
        world.storefront("customers/login-with-idp-b").json(&body).send().await.ok(200)
    };
    let ada = sign_in().await;
    assert_ne!(ada["customer"]["id"], eve["customer"]["id"]);
    assert_eq!((&ada["customer"]["email"], &ada["customer"]["email_verified"]), (&json!(EMAIL), &json!(true)));

    // Nothing that was there before opens it: no password, no code that was asked for or is asked for now, no session.
    login(&world, EMAIL, PASSWORD).await.refused(401, "credentials_invalid");
    world.guess(EMAIL, CODE).await.refused(422, "code_invalid");
    world.pass(TimeDelta::minutes(2));
    ask_to_sign_in(&world, EMAIL).await.ok(200);
    assert_eq!(world.messages()[0].to, EMAIL);
    world.guess(EMAIL, CODE).await.refused(422, "code_invalid");
    let left = me(&world, &token(&eve)).await;
    assert_eq!((&left["id"], &left["email"]), (&eve["customer"]["id"], &Value::Null));

    world.api(Method::DELETE, &path).send().await.ok(200);
    world.storefront_get("customers/me").token(&token(&eve)).send().await.refused(401, "customer_token_invalid");
    assert_eq!(me(&world, &token(&ada)).await["email"], EMAIL);
    assert_eq!(sign_in().await["customer"]["id"], ada["customer"]["id"]);
}

#[tokio::test]
async fn a_code_that_was_sent_to_a_customer_proves_more_than_a_fixed_one() {
    let world = World::new().await;
    let ada = token(&world.register(PHONE).await);
    let body = json!({ "email": REVIEWER });
    world.storefront("customers/request-email-verification").token(&ada).json(&body).send().await.ok(200);
    let sent = world.last_code();

    world.test_identity(REVIEWER).await;
    ask_to_register(&world, REVIEWER).await.ok(200);
    let eve = world.open_account(REVIEWER, CODE).await.ok(201);
    let code = json!({ "code": sent });
    assert_eq!(world.storefront("customers/verify-email").token(&ada).json(&code).send().await.ok(200)["customer"]["email"], REVIEWER);
    assert_eq!(me(&world, &token(&eve)).await["email"], Value::Null);
}

#[tokio::test]
async fn a_fixed_code_takes_nothing_from_an_account_that_lists_the_address() {
    let world = World::new().await;
    world.test_identity(REVIEWER).await;
    let bob = world.register_with(EMAIL, json!({})).await;
    sqlx::query("update customers set email = $1, email_verified_at = null").bind(REVIEWER).execute(&world.pool).await.unwrap();
    ask_to_register(&world, REVIEWER).await.ok(200);
    world.open_account(REVIEWER, CODE).await.ok(201);
    world.pass(TimeDelta::seconds(2));
    assert_eq!(me(&world, &token(&bob)).await["email"], REVIEWER);
}

#[tokio::test]
async fn a_fixed_code_is_given_out_by_those_who_may_vouch() {
    let world = World::new().await;
    let until = timestamp(world.clock.now() + TimeDelta::days(30));
    let body = json!({ "store": world.store, "identity": REVIEWER, "code": CODE, "expires_at": until });
    let writing = world.key_of(world.company, &[Scope::Read, Scope::Write]).await;
    world.request(Method::POST, PATH).key(&writing).json(&body).send().await.refused(403, "scope_missing");
    let made = world.test_identity(REVIEWER).await;
    world.request(Method::PUT, &made).key(&writing).json(&json!({ "code": "111111" })).send().await.refused(403, "scope_missing");
    world.request(Method::DELETE, &made).key(&writing).send().await.refused(403, "scope_missing");
}

#[tokio::test]
async fn a_code_that_was_asked_for_opens_nothing_once_the_identity_is_deleted() {
    let world = World::new().await;
    let path = world.test_identity(REVIEWER).await;
    ask_to_register(&world, REVIEWER).await.ok(200);
    world.api(Method::DELETE, &path).send().await.ok(200);
    world.open_account(REVIEWER, CODE).await.refused(422, "code_invalid");
    assert_eq!(world.count("select count(*) from customers").await, 0);
}

#[tokio::test]
async fn it_ends_and_then_still_sends_nothing() {
    let world = World::new().await;
    let path = world.test_identity(REVIEWER).await;
    ask_to_register(&world, REVIEWER).await.ok(200);
    world.open_account(REVIEWER, CODE).await.ok(201);
    world.pass(TimeDelta::days(30));
    ask_to_sign_in(&world, REVIEWER).await.refused(422, "test_identity_expired");
    world.verify(REVIEWER, CODE).await.refused(422, "code_invalid");
    assert_eq!(world.messages().len(), 0);
    let extended = json!({ "expires_at": timestamp(world.clock.now() + TimeDelta::days(90)), "code": "111111" });
    world.api(Method::PUT, &path).json(&extended).send().await.ok(200);
    ask_to_sign_in(&world, REVIEWER).await.ok(200);
    world.verify(REVIEWER, "111111").await.ok(200);
}

#[tokio::test]
async fn what_cannot_be_a_test_identity_is_refused_by_member() {
    let world = World::new().await;
    let at = |days: i64| timestamp(world.clock.now() + TimeDelta::days(days));
    for (change, member) in [
        (json!({ "code": "12345" }), "code"),
        (json!({ "code": 123456 }), "code"),
        (json!({ "identity": "ada" }), "identity"),
        (json!({ "expires_at": at(91) }), "expires_at"),
        (json!({ "expires_at": at(0) }), "expires_at"),
        (json!({ "store": "store_01h455vb4pex5vsknk084sn02q" }), "store"),
    ] {
        let refused = world.make_test_identity(change.clone()).await.refused(422, "body_invalid");
        assert!(refused["fields"][member].is_array(), "{change}: {refused}");
    }
    let path = world.test_identity(REVIEWER).await;
    world.make_test_identity(json!({})).await.refused(422, "body_invalid");
    let refused = world.api(Method::PUT, &path).json(&json!({ "identity": PHONE })).send().await.refused(422, "body_invalid");
    assert!(refused["fields"]["identity"].is_array(), "{refused}");
    // It belongs to one store.
    let (_, another) = world.another_store().await;
    let asked = world.storefront("customers/request-creation-code").key(&another).json(&json!({ "identity": REVIEWER }));
    asked.send().await.ok(200);
    assert_eq!(world.messages().len(), 1);
}

#[tokio::test]
async fn accounts_made_with_it_are_marked_left_out_of_figures_and_closed_with_it() {
    let world = World::new().await;
    world.register(EMAIL).await;
    let path = world.test_identity(REVIEWER).await;
    ask_to_register(&world, REVIEWER).await.ok(200);
    let reviewer = token(&world.open_account(REVIEWER, CODE).await.ok(201));
    ask_to_sign_in(&world, REVIEWER).await.ok(200);
    world.verify(REVIEWER, wrong(CODE)).await.refused(422, "code_invalid");

    let emails =
        |customers: Vec<Value>| customers.iter().map(|customer| customer["email"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(emails(world.customers("test=true").await), [REVIEWER]);
    assert_eq!(emails(world.customers("test=false").await), [EMAIL]);
    let counted = async || {
        let figures = world.api(Method::GET, "/storefront/int/v1/figures").send().await.ok(200);
        let methods = figures["figures"]["sign_ins"].as_array().unwrap().clone();
        methods.iter().map(|method| method["succeeded"].as_i64().unwrap() + method["refused"].as_i64().unwrap()).sum::<i64>()
    };
    assert_eq!(counted().await, 1, "Ada's registration");
    world.pass(TimeDelta::hours(2));
    world.state.storefront.sweep().await.unwrap();
    assert_eq!(counted().await, 1, "also when whole hours are counted");

    world.api(Method::DELETE, &path).send().await.ok(200);
    world.storefront_get("customers/me").token(&reviewer).send().await.refused(401, "customer_token_invalid");
    assert!(world.customers("test=true").await[0]["closed_at"].is_string());
    assert!(world.customers("test=false").await[0]["closed_at"].is_null());
    // From now on the address is one like any other.
    ask_to_register(&world, REVIEWER).await.ok(200);
    assert_eq!(world.messages()[0].to, REVIEWER);
}

#[tokio::test]
async fn the_audit_trail_and_the_console_tell_of_it() {
    let world = World::new().await;
    let path = world.test_identity(REVIEWER).await;
    world.pass(TimeDelta::minutes(1));
    world.api(Method::PUT, &path).json(&json!({ "code": "111111" })).send().await.ok(200);
    world.pass(TimeDelta::minutes(1));
    world.api(Method::DELETE, &path).send().await.ok(200);
    let changes = world.api(Method::GET, "/developers/int/v1/changes?kind=test_identity&sort=-created_at").send().await.ok(200);
    let told: Vec<_> =
        changes["changes"].as_array().unwrap().iter().map(|change| (change["action"].clone(), change["fields"].clone())).collect();
    assert_eq!(told, [(json!("deleted"), json!([])), (json!("updated"), json!(["code"])), (json!("created"), json!([]))]);

    world.make_test_identity(json!({})).await.ok(201);
    let mut tab = world.signed_in(Role::Owner).await;
    tab.open("/console/records/storefront/test-identities").await.says(REVIEWER);
}
