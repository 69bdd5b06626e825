//! Unverified identities: a customer that proves an identity takes it over from an account that merely lists it, and listing it gives
//! no access (decisions, section 3, Proof).

use chrono::TimeDelta;
use futures::future::join;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::customers::{EMAIL, PASSWORD, PHONE, me, token, wrong};
use crate::support::identity_provider::{APP, IdentityProvider, claims_of_b, rsa, with};

const OTHER: &str = "+12025550199";

#[tokio::test]
async fn a_lost_claim_is_removed_at_once_and_published_as_an_update() {
    let world = World::new().await;
    let updated =
        "select count(*) from events where name = 'customer.updated' and convert_from(body, 'UTF8')::jsonb -> 'data' -> 'phone' = 'null'";
    let eve = world.register_with("eve@example.com", json!({ "phone": PHONE })).await;
    // By registering.
    assert_eq!(me(&world, &token(&eve)).await["phone"], PHONE);
    world.register(PHONE).await;
    assert_eq!(me(&world, &token(&eve)).await["phone"], Value::Null);
    assert_eq!(world.count(updated).await, 1);

    // By verifying the number.
    let mallory = world.register_with("mallory@example.com", json!({ "phone": OTHER })).await;
    assert_eq!(me(&world, &token(&mallory)).await["phone"], OTHER);
    let ada = token(&world.register(EMAIL).await);
    world.storefront("customers/request-phone-verification").token(&ada).json(&json!({ "phone": OTHER })).send().await.ok(200);
    let code = json!({ "code": world.last_code() });
    world.storefront("customers/verify-phone-number").token(&ada).json(&code).send().await.ok(200);
    assert_eq!(me(&world, &token(&mallory)).await["phone"], Value::Null);
    assert_eq!(world.count(updated).await, 2);
}

#[tokio::test]
async fn a_later_claim_changes_nothing_for_the_owner() {
    for (contact, method, others) in [
        (PHONE, "sms", ["eve1@example.com", "eve2@example.com", "eve3@example.com"]),
        (EMAIL, "email", ["+12025550101", "+12025550102", "+12025550103"]),
    ] {
        let world = World::new().await;
        let owner = world.register_with(contact, json!({ "password": PASSWORD })).await;
        let before = me(&world, &token(&owner)).await;
        let field = if contact == PHONE { "phone" } else { "email" };
        for other in others {
            world.register_with(other, json!({ field: contact, "password": "password of another" })).await;
        }
        let listing = "select count(*) from customers where phone = '+12015550123' or email = 'ada@example.com'";
        assert_eq!(world.count(listing).await, 4, "each of them lists {contact}");

        let login = |password: &str| {
            let body = json!({ "identity": contact, "password": password });
            world.storefront("customers/login").json(&body).send()
        };
        assert_eq!(login(PASSWORD).await.ok(200)["customer"]["id"], before["id"]);
        login("password of another").await.refused(401, "credentials_invalid");
        world.pass(TimeDelta::minutes(2));
        let sent = world.storefront("customers/login-with-sms").json(&json!({ "identity": contact })).send().await.ok(200);
        assert_eq!((&sent["method"], world.messages()[0].to.as_str()), (&json!(method), contact));
        let by_code = world.verify(contact, world.last_code()).await.ok(200);
        assert_eq!(by_code["customer"]["id"], before["id"]);
        assert_eq!(me(&world, &token(&owner)).await, before);
    }
}

#[tokio::test]
async fn a_right_code_for_a_claim_does_not_reset_the_count_of_the_number() {
    let world = World::new().await;
    let eve = world.register_with("eve@example.com", json!({ "phone": PHONE })).await;
    world.pass(TimeDelta::minutes(2));
    // Eve guesses the owner's code ...
    let code = world.creation_code(PHONE).await;
    for _ in 0..5 {
        world.open_account(PHONE, &wrong(&code)).await;
    }
    // ... and in between signs in with a code mailed to her, because she once typed that number.
    world.storefront("customers/login-with-sms").json(&json!({ "phone": PHONE })).send().await.ok(200);
    let login = world.verify(PHONE, world.last_code()).await.ok(200);
    assert_eq!(login["customer"]["id"], eve["customer"]["id"]);
    world.pass(TimeDelta::minutes(1));
    let code = world.creation_code(PHONE).await;
    for _ in 0..4 {
        world.open_account(PHONE, &wrong(&code)).await.refused(422, "code_invalid");
    }
    world.open_account(PHONE, &wrong(&code)).await.refused(429, "identity_locked_out");
    world.open_account(PHONE, &code).await.refused(429, "identity_locked_out");
}

#[tokio::test]
async fn a_right_code_of_the_owner_resets_the_count_on_every_channel() {
    let world = World::new().await;
    world.register(PHONE).await;
    world.pass(TimeDelta::minutes(2));
    sqlx::query("update customers set email = $1, email_verified_at = now()").bind(EMAIL).execute(&world.pool).await.unwrap();
    sqlx::query("update stores set texts_paused_at = now(), texts_paused_reason = 'by hand'").execute(&world.pool).await.unwrap();
    for _ in 0..3 {
        let code = world.sign_in_code(PHONE).await;
        for _ in 0..4 {
            world.verify(PHONE, wrong(&code)).await.refused(422, "code_invalid");
        }
        world.verify(PHONE, code).await.ok(200);
        world.pass(TimeDelta::minutes(1));
    }
}

#[tokio::test]
async fn a_right_code_for_a_claim_before_a_lock_out_is_not_counted() {
    let world = World::new().await;
    world.register_with("eve@example.com", json!({ "phone": PHONE })).await;
    world.pass(TimeDelta::minutes(2));
    let code = world.creation_code(PHONE).await;
    for _ in 0..5 {
        world.open_account(PHONE, &wrong(&code)).await;
    }
    world.pass(TimeDelta::minutes(1));
    let code = world.creation_code(PHONE).await;
    for _ in 0..4 {
        world.open_account(PHONE, &wrong(&code)).await.refused(422, "code_invalid");
    }
    // The tenth guess is correct and does not count as wrong: the owner of the number is not locked out.
    world.storefront("customers/login-with-sms").json(&json!({ "phone": PHONE })).send().await.ok(200);
    world.verify(PHONE, world.last_code()).await.ok(200);
    world.open_account(PHONE, &code).await.ok(201);
}

#[tokio::test]
async fn a_registration_and_a_verification_of_one_number_do_not_deadlock() {
    for _ in 0..10 {
        let world = World::new().await;
        world.register_with("eve@example.com", json!({ "phone": PHONE })).await;
        let bob = token(&world.register("bob@example.com").await);
        world.storefront("customers/request-phone-verification").token(&bob).json(&json!({ "phone": PHONE })).send().await.ok(200);
        let bobs = json!({ "code": world.last_code() });
        world.pass(TimeDelta::seconds(30));
        let code = world.creation_code(PHONE).await;
        let verified = world.storefront("customers/verify-phone-number").token(&bob).json(&bobs).send();
        let (registered, verified) = join(world.open_account(PHONE, &code), verified).await;
        match registered.status {
            201 => verified.refused(422, "phone_taken"),
            _ => {
                registered.refused(422, "account_exists");
                verified.ok(200)
            }
        };
        assert_eq!(world.count("select count(*) from customers where phone is not null").await, 1);
    }
}

#[tokio::test]
async fn a_registration_and_a_provider_sign_in_with_one_address_do_not_deadlock() {
    let idp = IdentityProvider::start().await;
    for _ in 0..10 {
        let world = idp.world(&[]).await;
        world.register_with(PHONE, json!({ "email": EMAIL })).await;
        let code = world.creation_code(EMAIL).await;
        let claims = with(&claims_of_b(&world, "7"), json!({ "email": EMAIL, "email_verified": true }));
        let body = json!({ "idToken": rsa().sign(&claims), "clientId": APP });
        let vouched = world.storefront("customers/login-with-idp-b").json(&body).send();
        let (registered, vouched) = join(world.open_account(EMAIL, &code), vouched).await;
        let vouched = vouched.ok(200);
        match registered.status {
            201 => assert_eq!(vouched["customer"]["id"], registered.body["customer"]["id"]),
            _ => drop(registered.refused(422, "account_exists")),
        }
        assert_eq!(world.count("select count(*) from customers where email is not null").await, 1);
    }
}

#[tokio::test]
async fn parallel_requests_for_two_numbers_of_one_customer_do_not_deadlock() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    let ask = |phone: &str| world.storefront("customers/request-phone-verification").token(&ada).json(&json!({ "phone": phone })).send();
    for _ in 0..5 {
        let (one, other) = join(ask(PHONE), ask(OTHER)).await;
        one.ok(200);
        other.ok(200);
        // The last request of the two superseded the code of the other.
        assert_eq!(world.count("select count(*) from verification_codes where purpose = 'verify_phone' and not superseded").await, 1);
        world.pass(TimeDelta::minutes(15));
        world.freshen().await;
    }
}

#[tokio::test]
async fn a_code_sent_to_a_replaced_number_is_refused() {
    let world = World::new().await;
    let ada = token(&world.register(PHONE).await);
    world.pass(TimeDelta::minutes(2));
    let to_the_old_number = world.sign_in_code(PHONE).await;
    world.storefront("customers/request-phone-verification").token(&ada).json(&json!({ "phone": OTHER })).send().await.ok(200);
    let code = json!({ "code": world.last_code() });
    world.storefront("customers/verify-phone-number").token(&ada).json(&code).send().await.ok(200);
    world.verify(PHONE, to_the_old_number).await.refused(422, "code_invalid");
}
