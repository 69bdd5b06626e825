//! Taking a changed contact back: the code of the notice gives the account to who had the contact before (decisions, section 3, Take-back).

use chrono::TimeDelta;
use futures::future::{join, join_all};
use serde_json::{Value, json};

use crate::support::customers::{EMAIL, PASSWORD, PHONE, login, me, token};
use crate::support::{Answer, World};

const EVES: &str = "eve@example.com";
const EVES_PHONE: &str = "+12015550199";

async fn change(world: &World, token: &str, member: &str, contact: &str) {
    let (request, verify) = match member {
        "phone" => ("customers/request-phone-verification", "customers/verify-phone-number"),
        _ => ("customers/request-email-verification", "customers/verify-email"),
    };
    world.storefront(request).token(token).json(&json!({ member: contact })).send().await.ok(200);
    world.storefront(verify).token(token).json(&json!({ "code": world.last_code() })).send().await.ok(200);
}

/// The code of the latest notice to a contact, as it stands there.
fn notice_code(world: &World, to: &str) -> String {
    let notice = world.messages().into_iter().find(|message| message.to == to && message.code.is_none()).expect("there is a notice");
    let is_code = |word: &&str| word.len() == 19 && word.matches('-').count() == 3;
    notice.text.split_whitespace().find(is_code).expect("it has a code").to_owned()
}

async fn take_back(world: &World, identity: &str, code: &str) -> Answer {
    world.storefront("customers/take-back").json(&json!({ "identity": identity, "code": code })).send().await
}

#[tokio::test]
async fn the_owner_of_the_old_address_takes_the_account_back() {
    let world = World::new().await;
    let ada = world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    let thief = token(&ada);
    let device = json!({ "platform": "ios", "token": "eves phone" });
    world.storefront("customers/register-device").token(&thief).json(&device).send().await.ok(200);
    change(&world, &thief, "email", EVES).await;
    let new_password = json!({ "password": "battery staple correct" });
    world.storefront("customers/change-password").token(&thief).json(&new_password).send().await.ok(200);
    world.pass(TimeDelta::days(7) - TimeDelta::seconds(1));

    let answer = take_back(&world, EMAIL, &notice_code(&world, EMAIL)).await.ok(200);
    let contact = json!({ "kind": "email", "contact": EMAIL, "verified": true });
    assert_eq!(
        answer,
        json!({ "status": "ok", "review": { "contacts": [contact], "providers": [], "passkeys": [], "second_factor": null } })
    );
    world.storefront_get("customers/me").token(&thief).send().await.refused(401, "customer_token_invalid");
    assert_eq!(world.count("select count(*) from devices").await, 0);
    for (identity, password) in [(EVES, "battery staple correct"), (EMAIL, "battery staple correct"), (EMAIL, PASSWORD)] {
        login(&world, identity, password).await.refused(401, "credentials_invalid");
    }
    let code = world.sign_in_code(EMAIL).await;
    assert_eq!(world.verify(EMAIL, code).await.ok(200)["customer"]["id"], ada["customer"]["id"]);
    assert_eq!(world.count("select count(*) from events where name = 'customer.updated'").await, 2);
}

#[tokio::test]
async fn who_gets_the_account_back_is_told_and_who_loses_it_too() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    change(&world, &ada, "email", EVES).await;
    let (code, before) = (notice_code(&world, EMAIL), world.messages().len());
    take_back(&world, EMAIL, &code).await.ok(200);
    let told: Vec<_> = world.messages().into_iter().rev().skip(before).map(|message| (message.to, message.subject)).collect();
    let subject = Some("Your Acme Shop account has its former contacts again".to_owned());
    assert_eq!(told, [(EMAIL.to_owned(), subject.clone()), (EVES.to_owned(), subject)]);
    // Nor is the thief's device known any more.
    assert_eq!(world.count("select count(*) from seen_devices").await, 0);
}

#[tokio::test]
async fn proving_a_contact_again_does_not_make_it_a_new_one() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    world.pass(TimeDelta::minutes(2));
    change(&world, &ada, "phone", PHONE).await;
    world.pass(TimeDelta::minutes(2));
    change(&world, &ada, "email", EMAIL).await;
    world.pass(TimeDelta::minutes(2));
    change(&world, &ada, "email", EVES).await;
    take_back(&world, EMAIL, &notice_code(&world, EMAIL)).await.ok(200);
}

#[tokio::test]
async fn a_text_to_the_old_number_has_the_code_too() {
    let world = World::new().await;
    let ada = token(&world.register(PHONE).await);
    world.pass(TimeDelta::minutes(2));
    change(&world, &ada, "phone", EVES_PHONE).await;
    let code = notice_code(&world, PHONE);
    take_back(&world, PHONE, &code.to_lowercase().replace('-', "")).await.ok(200);
    world.pass(TimeDelta::minutes(2));
    let code = world.sign_in_code(PHONE).await;
    let login = world.verify(PHONE, code).await.ok(200);
    assert_eq!(me(&world, &token(&login)).await["phone"], PHONE);
}

#[tokio::test]
async fn a_code_works_once_for_a_contact_that_was_told_and_for_seven_days() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    change(&world, &ada, "email", EVES).await;
    let code = notice_code(&world, EMAIL);
    // Neither the new contact nor another one of the right form, and no other code.
    for (identity, guess) in
        [(EVES, code.as_str()), ("bob@example.com", &code), (EMAIL, "0000-0000-0000-0000"), (EMAIL, "123456"), ("x", &code)]
    {
        take_back(&world, identity, guess).await.refused(422, "code_invalid");
    }
    take_back(&world, EMAIL, &format!("\t{}\r\n", code.replace('-', "—"))).await.ok(200);
    take_back(&world, EMAIL, &code).await.refused(422, "code_used");
    take_back(&world, EVES, &code).await.refused(422, "code_invalid");

    let code = world.sign_in_code(EMAIL).await;
    let ada = token(&world.verify(EMAIL, code).await.ok(200));
    world.pass(TimeDelta::minutes(2));
    change(&world, &ada, "email", EVES).await;
    let code = notice_code(&world, EMAIL);
    world.pass(TimeDelta::days(7));
    take_back(&world, EMAIL, &code).await.refused(422, "code_invalid");
    world.state.storefront.sweep().await.unwrap();
    assert_eq!(world.count("select count(*) from contact_changes").await, 0);
}

#[tokio::test]
async fn a_change_that_is_taken_back_takes_the_later_ones_along() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    change(&world, &ada, "email", EVES).await;
    world.pass(TimeDelta::minutes(2));
    change(&world, &ada, "phone", EVES_PHONE).await;
    world.pass(TimeDelta::minutes(2));
    change(&world, &ada, "email", "eve2@example.com").await;
    let answer = take_back(&world, EMAIL, &notice_code(&world, EMAIL)).await.ok(200);
    assert_eq!(answer["review"]["contacts"], json!([{ "kind": "email", "contact": EMAIL, "verified": true }]), "the number is gone too");
    assert_eq!(world.count("select count(*) from contact_changes where taken_back_at is null").await, 0);
}

#[tokio::test]
async fn a_contact_that_came_this_week_is_told_without_a_code() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    change(&world, &ada, "email", EVES).await;
    world.pass(TimeDelta::minutes(2));
    // The owner changes it back by hand. The thief must not take that back.
    change(&world, &ada, "email", EMAIL).await;
    let told = world.messages().into_iter().find(|message| message.to == EVES && message.code.is_none()).unwrap();
    assert!(told.text.contains("Another phone number or email address was saved"), "{}", told.text);
    assert_eq!(world.count("select count(*) from contact_changes").await, 1, "that of the thief");
    // After a week it is the customer's like any other.
    world.pass(TimeDelta::days(8));
    let code = world.sign_in_code(EMAIL).await;
    let ada = token(&world.verify(EMAIL, code).await.ok(200));
    change(&world, &ada, "email", "ada@lovelace.example").await;
    take_back(&world, EMAIL, &notice_code(&world, EMAIL)).await.ok(200);
}

#[tokio::test]
async fn two_take_backs_at_once_take_back_once() {
    let world = World::new().await;
    for _ in 0..5 {
        let ada = token(&world.register(EMAIL).await);
        change(&world, &ada, "email", EVES).await;
        let code = notice_code(&world, EMAIL);
        let answers = join_all((0..4).map(|_| take_back(&world, EMAIL, &code))).await;
        let taken = answers.iter().filter(|answer| answer.status == 200).count();
        assert!(taken == 1 && answers.iter().all(|answer| answer.status == 200 || answer.body["code"] == "code_used"), "{answers:?}");
        sqlx::query("update customers set closed_at = now()").execute(&world.pool).await.unwrap();
        world.pass(TimeDelta::minutes(2));
    }
}

#[tokio::test]
async fn a_take_back_beside_another_change_leaves_the_owner_with_the_account() {
    let world = World::new().await;
    for _ in 0..5 {
        let thief = token(&world.register(EMAIL).await);
        change(&world, &thief, "email", EVES).await;
        let code = notice_code(&world, EMAIL);
        world.storefront("customers/request-phone-verification").token(&thief).json(&json!({ "phone": EVES_PHONE })).send().await.ok(200);
        let again = json!({ "code": world.last_code() });
        let changing = world.storefront("customers/verify-phone-number").token(&thief).json(&again).send();
        let (taken, changed) = join(take_back(&world, EMAIL, &code), changing).await;
        taken.ok(200);
        assert!([200, 401, 422].contains(&changed.status), "{changed:?}");
        let account: Value =
            sqlx::query_scalar("select to_jsonb(customers) from customers where closed_at is null").fetch_one(&world.pool).await.unwrap();
        assert_eq!((&account["email"], &account["phone"]), (&json!(EMAIL), &Value::Null));
        assert_eq!(world.count("select count(*) from customer_tokens where revoked_at is null").await, 0);
        sqlx::query("update customers set closed_at = now()").execute(&world.pool).await.unwrap();
        world.pass(TimeDelta::minutes(20));
    }
}

#[tokio::test]
async fn guesses_are_counted_by_client_and_do_not_keep_the_owner_out() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    change(&world, &ada, "email", EVES).await;
    let guess = |address: &str| {
        let body = json!({ "identity": EMAIL, "code": "0000-0000-0000-0000" });
        world.storefront("customers/take-back").json(&body).from(address).send()
    };
    for _ in 0..10 {
        guess("203.0.113.9").await.refused(422, "code_invalid");
    }
    guess("203.0.113.9").await.refused(429, "rate_limited");
    take_back(&world, EMAIL, &notice_code(&world, EMAIL)).await.ok(200);
}

#[tokio::test]
async fn neither_the_same_request_again_nor_what_cannot_be_a_code_is_a_guess() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    change(&world, &ada, "email", EVES).await;
    let code = notice_code(&world, EMAIL);
    let send = |code: &str| {
        let body = json!({ "identity": EMAIL, "code": code });
        world.storefront("customers/take-back").json(&body).from("203.0.113.9").send()
    };
    for _ in 0..12 {
        send("123456").await.refused(422, "code_invalid");
    }
    send(&code).await.ok(200);
    for _ in 0..12 {
        send(&code).await.refused(422, "code_used");
    }
    // It is remembered for ten minutes.
    world.pass(TimeDelta::minutes(10));
    world.state.storefront.sweep().await.unwrap();
    send(&code).await.refused(422, "code_invalid");
}

#[tokio::test]
async fn an_old_contact_that_another_account_has_proven_since_is_not_taken_from_it() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    change(&world, &ada, "email", EVES).await;
    let code = notice_code(&world, EMAIL);
    world.pass(TimeDelta::minutes(2));
    let other = token(&world.register(EMAIL).await);
    take_back(&world, EMAIL, &code).await.refused(422, "email_taken");
    assert_eq!(me(&world, &other).await["email"], EMAIL);
}
