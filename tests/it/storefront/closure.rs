//! Closing an account: interface 1, rule 8; decisions, section 3 (Closure).

use chrono::TimeDelta;
use portico::kernel::clock::timestamp;
use portico::kernel::crypto::hmac_sha256;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::customers::{EMAIL, PASSWORD, PHONE, token, wrong};
use crate::support::identity_provider::{IdentityProvider, sign_in_with_a};
use crate::support::receiver::{Received, Reply};
use crate::support::{Answer, World, database};

#[tokio::test]
async fn a_closed_account_refuses_sign_ins_and_its_identity_may_register_again() {
    let world = World::new().await;
    let login = world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    let ada = token(&login);
    let password = json!({ "identity": EMAIL, "password": PASSWORD });
    let elsewhere = token(&world.storefront("customers/login").json(&password).send().await.ok(200));
    let device = json!({ "platform": "ios", "token": "apns" });
    world.storefront("customers/register-device").token(&ada).json(&device).send().await.ok(200);

    let asked = world.storefront("customers/account-closure").token(&ada).send().await.ok(200);
    assert_eq!(asked, json!({ "status": "ok", "method": "email" }));
    let code = world.last_code();
    let confirm = |code: String| world.storefront("customers/confirm-account-closure").token(&ada).json(&json!({ "code": code }));
    confirm(wrong(&code)).send().await.refused(422, "code_invalid");
    assert_eq!(confirm(code).send().await.ok(200), json!({ "status": "ok" }));

    for ended in [&ada, &elsewhere] {
        world.storefront_get("customers/me").token(ended).send().await.refused(401, "customer_token_invalid");
    }
    assert_eq!(world.count("select count(*) from customer_tokens where revoked_at is null").await, 0);
    world.storefront("customers/login").json(&password).send().await.refused(401, "credentials_invalid");
    assert_eq!(world.count("select count(*) from devices").await, 0);
    assert_eq!(world.count("select count(*) from events where name = 'customer.closed'").await, 1);

    world.pass(TimeDelta::minutes(2));
    let again = world.register(EMAIL).await;
    assert_ne!(again["customer"]["id"], login["customer"]["id"]);
}

#[tokio::test]
async fn the_code_goes_to_the_number_or_by_mail_when_the_text_cannot_be_sent() {
    let world = World::new().await;
    let ada = token(&world.register(PHONE).await);
    world.pass(TimeDelta::minutes(2));
    let ask = || world.storefront("customers/account-closure").token(&ada).send();
    assert_eq!(ask().await.ok(200)["method"], "sms");
    world.pass(TimeDelta::minutes(2));
    sqlx::query("update stores set texts_paused_at = now(), texts_paused_reason = 'by hand'").execute(&world.pool).await.unwrap();
    ask().await.refused(423, "texts_paused");
    sqlx::query("update customers set email = $1, email_verified_at = now()").bind(EMAIL).execute(&world.pool).await.unwrap();
    world.pass(TimeDelta::seconds(1));
    assert_eq!(ask().await.ok(200)["method"], "email");
    assert_eq!(world.messages()[0].to, EMAIL);
}

/// Asks to close the account, and confirms it without a code.
async fn close_without_code(world: &World, token: &str) -> [Answer; 2] {
    let asked = world.storefront("customers/account-closure").token(token).send().await;
    [asked, world.storefront("customers/confirm-account-closure").token(token).send().await]
}

#[tokio::test]
async fn an_account_that_is_known_by_a_provider_alone_is_closed_after_signing_in_with_it_again() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let ada = sign_in_with_a(&world, "7").await;
    world.pass(TimeDelta::hours(1));
    // Whoever has found the token only cannot.
    for stale in close_without_code(&world, &ada).await {
        let refused = stale.refused(403, "fresh_sign_in_required");
        assert_eq!((&refused["ways"], &refused["contacts"]), (&json!(["sign_in"]), &json!({})));
    }
    let [asked, closed] = close_without_code(&world, &sign_in_with_a(&world, "7").await).await;
    assert_eq!(asked.ok(200), json!({ "status": "ok", "method": "sign_in" }));
    assert_eq!(closed.ok(200), json!({ "status": "ok" }));
    world.storefront_get("customers/me").token(&ada).send().await.refused(401, "customer_token_invalid");
    assert_eq!(world.count("select count(*) from provider_links").await, 0);
    assert_eq!(world.count("select count(*) from events where name = 'customer.closed'").await, 1);
    assert!(world.messages().is_empty(), "there is nobody to send anything to");
}

#[tokio::test]
async fn an_account_with_a_password_and_nothing_proven_is_closed_after_a_step_up() {
    let world = World::new().await;
    let ada = token(&world.register_with(EMAIL, json!({ "password": PASSWORD })).await);
    sqlx::query("update customers set email_verified_at = null").execute(&world.pool).await.unwrap();
    world.pass(TimeDelta::hours(1));
    for stale in close_without_code(&world, &ada).await {
        assert_eq!(stale.refused(403, "fresh_sign_in_required")["ways"], json!(["password", "sign_in"]));
    }
    let proof = json!({ "password": PASSWORD });
    world.storefront("customers/confirm-step-up").token(&ada).json(&proof).send().await.ok(200);
    for done in close_without_code(&world, &ada).await {
        done.ok(200);
    }
}

#[tokio::test]
async fn an_account_with_a_proven_contact_is_closed_by_a_code_alone() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    for body in [json!({}), json!({ "code": null }), json!({ "code": "" })] {
        let confirming = world.storefront("customers/confirm-account-closure").token(&ada).json(&body).send().await;
        assert_eq!(confirming.refused(422, "body_invalid")["fields"]["code"][0], "code is required.");
    }
    let [_, without_code] = close_without_code(&world, &ada).await;
    without_code.refused(422, "body_invalid");
    world.storefront_get("customers/me").token(&ada).send().await.ok(200);
}

#[tokio::test]
async fn an_account_whose_contacts_are_all_new_waits_until_their_changes_cannot_be_taken_back() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    let body = json!({ "email": "lovelace@example.com" });
    world.storefront("customers/request-email-verification").token(&ada).json(&body).send().await.ok(200);
    world.storefront("customers/verify-email").token(&ada).json(&json!({ "code": world.last_code() })).send().await.ok(200);
    world.storefront("customers/account-closure").token(&ada).send().await.refused(422, "contacts_too_new");
    world.pass(TimeDelta::days(7));
    world.storefront("customers/account-closure").token(&ada).send().await.ok(200);
}

#[tokio::test]
async fn a_number_that_was_proven_a_minute_ago_gets_no_code_as_long_as_there_is_an_older_address() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    world.pass(TimeDelta::minutes(1));
    world.storefront("customers/request-phone-verification").token(&ada).json(&json!({ "phone": PHONE })).send().await.ok(200);
    world.storefront("customers/verify-phone-number").token(&ada).json(&json!({ "code": world.last_code() })).send().await.ok(200);
    world.pass(TimeDelta::minutes(1));
    let ask = async || world.storefront("customers/account-closure").token(&ada).send().await.ok(200)["method"].clone();
    assert_eq!(ask().await, "email");
    world.pass(TimeDelta::days(7));
    assert_eq!(ask().await, "sms");
}

async fn close(world: &World, token: &str) {
    world.storefront("customers/account-closure").token(token).send().await.ok(200);
    let body = json!({ "code": world.last_code() });
    world.storefront("customers/confirm-account-closure").token(token).json(&body).send().await.ok(200);
}

#[tokio::test]
async fn a_closed_account_is_erased_thirty_days_later() {
    let world = World::new().await;
    let login = world.register_with(EMAIL, json!({ "phone": PHONE, "password": PASSWORD })).await;
    close(&world, &token(&login)).await;

    let personal = "select count(*) from customers where name <> '' or email is not null or phone is not null or password_hash is not null";
    world.pass(TimeDelta::days(30) - TimeDelta::seconds(1));
    world.state.storefront.sweep().await.unwrap();
    assert_eq!(world.count(personal).await, 1);
    world.pass(TimeDelta::seconds(1));
    world.state.storefront.sweep().await.unwrap();
    assert_eq!(world.count(personal).await, 0);
    assert_eq!(world.count("select count(*) from sign_ins where identity is not null or address <> ''").await, 0);
    // A copy of the list that follows its changes learns of it.
    let path = format!("/storefront/int/v1/customers/{}", login["customer"]["id"].as_str().unwrap());
    let erased = world.api(Method::GET, &path).send().await.ok(200)["customer"].take();
    assert_eq!((&erased["email"], &erased["updated_at"]), (&Value::Null, &json!(timestamp(world.clock.now()))));
}

/// What a closing customer of these stories is known by.
const PERSONAL: [&str; 8] = [PHONE, "Lovelace", "ada@", "Countess", "ada.jpg", "London", "apns of ada", "Ada's phone"];

/// The columns that tell anything of [`PERSONAL`].
async fn telling(world: &World) -> Vec<String> {
    let forms: Vec<_> = PERSONAL.iter().flat_map(|text| [(*text).to_owned(), hex::encode(text)]).collect();
    let dump = database::dump(&world.pool).await.into_iter();
    let mut columns: Vec<_> = dump.filter(|(_, values)| forms.iter().any(|form| values.contains(form))).map(|(column, _)| column).collect();
    columns.sort_unstable();
    columns
}

#[tokio::test]
async fn nothing_tells_of_a_customer_who_has_been_erased() {
    let world = World::new().await;
    let login = world.register_with(PHONE, json!({ "email": EMAIL, "name": "Ada Lovelace", "password": PASSWORD })).await;
    let (ada, id) = (token(&login), login["customer"]["id"].as_str().unwrap());
    let profile = json!({ "title": "Countess", "photo_url": "https://example.com/ada.jpg", "meta": { "born": "in London" } });
    let path = format!("/storefront/v1/customers/{id}");
    world.request(Method::PUT, &path).key(&world.store_key).token(&ada).json(&profile).send().await.ok(200);
    world
        .storefront("customers/register-device")
        .token(&ada)
        .json(&json!({ "platform": "ios", "token": "apns of ada" }))
        .send()
        .await
        .ok(200);
    // The customer was refused by password and by code, and the guard refused a text; each refusal was recorded.
    for identity in [PHONE, EMAIL] {
        let body = json!({ "identity": identity, "password": "wrong password" });
        world
            .storefront("customers/login")
            .header("user-agent", "Ada's phone")
            .json(&body)
            .send()
            .await
            .refused(401, "credentials_invalid");
        world.verify(identity, "123456").await.refused(422, "code_invalid");
    }
    world.storefront("customers/login-with-sms").json(&json!({ "phone": PHONE })).send().await.refused(429, "number_cooldown");
    world.pass(TimeDelta::minutes(2));
    close(&world, &ada).await;
    let bob = world.register("bob@example.com").await;

    world.pass(TimeDelta::days(31));
    world.state.storefront.sweep().await.unwrap();
    assert_eq!(telling(&world).await, [""; 0]);
    // Past texts and sign-ins are still counted, and other customers are not erased.
    assert_eq!(world.count("select count(*) from texts where number_range = '+1201555'").await, 4, "one is the refused notice");
    assert_eq!(world.count("select count(*) from sign_ins where outcome <> 'signed_in'").await, 4);
    assert_eq!(world.count("select count(*) from sign_ins where identity = 'bob@example.com'").await, 1);
    world.storefront_get("customers/me").token(&token(&bob)).send().await.ok(200);
}

#[tokio::test]
async fn events_of_an_erased_customer_arrive_without_their_data() {
    let world = World::new().await;
    world.state.webhooks.maintain_partitions().await.unwrap();
    let (receiver, webhook) = world.subscriber("shop.test").await;
    // The endpoint responds to the first event with an error that quotes it, and later receives it.
    let quoting = |text: &str| Reply::Answer(500, Vec::new(), text.as_bytes().to_vec());
    receiver.will([quoting("Ada Lovelace is not known here")]);
    let login = world.register_with(EMAIL, json!({ "name": "Ada Lovelace" })).await;
    let id = login["customer"]["id"].as_str().unwrap();
    world.deliver().await;
    receiver.will([quoting("Who is Bob?")]);
    world.register("bob@example.com").await;
    world.deliver().await;
    let before = telling(&world).await;
    assert!(["attempts.response_body", "events.body"].iter().all(|column| before.iter().any(|telling| telling == column)), "{before:?}");

    world.api(Method::POST, &format!("/storefront/int/v1/customers/{id}/erase")).json(&json!({})).send().await.ok(200);
    let codes = ["verification_codes.identity", "verification_codes.sent_to"];
    assert_eq!(telling(&world).await, codes, "which are kept for a day");
    assert_eq!(world.count("select count(*) from attempts where response_body is not null").await, 1, "about the other one");
    world.pass(TimeDelta::minutes(5));
    world.deliver().await;
    let posts = receiver.received();
    let sent = |post: &Received| serde_json::from_slice::<Value>(&post.body).unwrap()["data"].take();
    let [created, closed] = ["customer.created", "customer.closed"].map(|name| {
        let mut about_ada = posts.iter().filter(|post| post.header("x-service-event") == name && sent(post)["id"] == id);
        about_ada.next_back().unwrap_or_else(|| panic!("{name}: {posts:?}"))
    });
    for post in [created, closed] {
        let digest = hmac_sha256(webhook["secret"].as_str().unwrap().as_bytes(), &[&post.body]);
        assert_eq!(post.header("x-service-signature"), hex::encode(digest));
        let data = sent(post);
        assert_eq!((&data["name"], &data["email"], &data["created_at"]), (&json!(""), &json!(""), &login["customer"]["created_at"]));
    }
    assert_eq!(created.header("x-service-attempt"), "2");
    let others: Vec<_> = posts.iter().map(sent).filter(|data| data["id"] != id).collect();
    assert!(!others.is_empty() && others.iter().all(|data| data["email"] == "bob@example.com"), "{others:?}");
}

#[tokio::test]
async fn erasing_a_customer_keeps_the_entries_of_the_next_owner_of_the_number() {
    let world = World::with(&[("storefront.erase_after", "0s")]).await;
    let first = token(&world.register(PHONE).await);
    world.pass(TimeDelta::minutes(2));
    close(&world, &first).await;
    world.pass(TimeDelta::minutes(2));
    world.register(PHONE).await;
    // During the first day, the guard still counts the texts sent to the number, the notice of the closure among them.
    world.state.storefront.sweep().await.unwrap();
    assert_eq!(world.count("select count(*) from texts where number is not null and status = 'sent'").await, 4);
    world.pass(TimeDelta::days(1));
    world.state.storefront.sweep().await.unwrap();
    assert_eq!(world.count("select count(*) from customers where erased_at is not null and phone is null").await, 1);
    assert_eq!(world.count("select count(*) from texts where number is not null").await, 1);
    assert_eq!(world.count("select count(*) from sign_ins where identity is not null").await, 1);
}

#[tokio::test]
async fn erasing_a_customer_keeps_what_belongs_to_somebody_else() {
    let world = World::new().await;
    // Eve lists what is Ada's, without proving it.
    world.register(PHONE).await;
    world.pass(TimeDelta::minutes(2));
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    let eve = token(&world.register_with("eve@example.com", json!({ "password": PASSWORD })).await);
    sqlx::query("update customers set phone = $1 where email = 'eve@example.com'").bind(PHONE).execute(&world.pool).await.unwrap();
    for identity in [PHONE, "eve@example.com"] {
        let body = json!({ "identity": identity, "password": "wrong password" });
        world.storefront("customers/login").json(&body).send().await.refused(401, "credentials_invalid");
    }
    close(&world, &eve).await;
    world.pass(TimeDelta::days(30));
    world.state.storefront.sweep().await.unwrap();
    assert_eq!(world.count("select count(*) from customers where erased_at is not null").await, 1);
    assert_eq!(world.count("select count(*) from texts where number = '+12015550123'").await, 1);
    assert_eq!(world.count("select count(*) from sign_ins where identity = '+12015550123' and outcome = 'credentials_invalid'").await, 1);
    assert_eq!(world.count("select count(*) from sign_ins where identity = 'eve@example.com'").await, 0);
}

#[tokio::test]
async fn orders_are_kept_when_their_customer_is_erased() {
    let world = World::new().await;
    let login = world.register(EMAIL).await;
    let order = world.order(json!({ "customer": login["customer"]["id"] })).await;
    close(&world, &token(&login)).await;
    world.pass(TimeDelta::days(30));
    world.state.storefront.sweep().await.unwrap();
    let path = format!("/fleet/int/v1/orders/{}", order["id"].as_str().unwrap());
    let found = world.api(Method::GET, &path).send().await.ok(200);
    assert_eq!(found["order"]["customer"], login["customer"]["id"]);
}

#[tokio::test]
async fn a_code_sent_before_the_closure_is_refused() {
    let world = World::new().await;
    let ada = token(&world.register(PHONE).await);
    world.pass(TimeDelta::minutes(2));
    let on_its_way = world.sign_in_code(PHONE).await;
    world.pass(TimeDelta::seconds(30));
    close(&world, &ada).await;
    world.verify(PHONE, on_its_way.clone()).await.refused(422, "code_invalid");
    // The code does not open the account of the next customer who registers with the number either.
    world.pass(TimeDelta::seconds(30));
    world.register(PHONE).await;
    world.verify(PHONE, on_its_way).await.refused(422, "code_invalid");
}

#[tokio::test]
async fn one_confirmation_of_many_at_once_closes_the_account() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    world.storefront("customers/account-closure").token(&ada).send().await.ok(200);
    let body = json!({ "code": world.last_code() });
    let confirm = || world.storefront("customers/confirm-account-closure").token(&ada).json(&body).send();
    let answers = futures::future::join_all((0..10).map(|_| confirm())).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
    assert!(answers.iter().all(|answer| [200, 401, 422, 429].contains(&answer.status)), "{answers:?}");
    assert_eq!(world.count("select count(*) from events where name = 'customer.closed'").await, 1);
}

#[tokio::test]
async fn a_double_tap_that_closes_the_account_is_not_told_that_the_code_is_wrong() {
    for _ in 0..5 {
        let world = World::new().await;
        let ada = token(&world.register(EMAIL).await);
        world.storefront("customers/account-closure").token(&ada).send().await.ok(200);
        let body = json!({ "code": world.last_code() });
        let confirm = || world.storefront("customers/confirm-account-closure").token(&ada).json(&body).send();
        let answers = futures::future::join_all((0..3).map(|_| confirm())).await;
        assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1, "{answers:?}");
        for refused in answers.into_iter().filter(|answer| answer.status != 200) {
            let code = &refused.body["code"];
            assert!(*code == "code_used" || *code == "customer_token_invalid", "{refused:?}");
        }
        confirm().await.refused(401, "customer_token_invalid");
        assert_eq!(world.count("select count(*) from verification_codes where purpose = 'close_account'").await, 1);
    }
}

#[tokio::test]
async fn an_erased_account_leaves_no_code_behind() {
    let world = World::new().await;
    let login = world.register(EMAIL).await;
    close(&world, &token(&login)).await;
    let path = format!("/storefront/int/v1/customers/{}/erase", login["customer"]["id"].as_str().unwrap());
    world.api(Method::POST, &path).json(&json!({})).send().await.ok(200);
    assert_eq!(world.count("select count(*) from verification_codes where purpose = 'close_account'").await, 0);
}
