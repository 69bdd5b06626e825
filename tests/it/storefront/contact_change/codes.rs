//! The codes that verify a new contact: for how long, for whom, and what ends them.

use chrono::TimeDelta;
use serde_json::json;

use super::{ADDRESS, BOB, Contact, of_both};
use crate::support::World;
use crate::support::customers::{EMAIL, PASSWORD, PHONE, ask_to_sign_in, reset_password, token, wrong};

#[tokio::test]
async fn the_code_lives_ten_minutes_and_five_guesses_lock_it() {
    of_both(async |world, contact| {
        let ada = token(&world.register_with(contact.old, json!({ "password": PASSWORD })).await);
        contact.ask(world, &ada, contact.new).await.ok(200);
        let code = world.last_code();
        world.pass(TimeDelta::minutes(10));
        contact.confirm(world, &ada, code).await.refused(422, "code_expired");
        let password = json!({ "password": PASSWORD });
        world.storefront("customers/confirm-step-up").token(&ada).json(&password).send().await.ok(200);
        contact.ask(world, &ada, contact.new).await.ok(200);
        let code = world.last_code();
        for _ in 0..4 {
            contact.confirm(world, &ada, wrong(&code)).await.refused(422, "code_invalid");
        }
        contact.confirm(world, &ada, wrong(&code)).await.refused(422, "code_locked");
        contact.confirm(world, &ada, code).await.refused(422, "code_locked");
    })
    .await;
}

#[tokio::test]
async fn without_any_code_a_guess_is_wrong() {
    of_both(async |world, contact| {
        let ada = token(&world.register(contact.old).await);
        for _ in 0..9 {
            contact.confirm(world, &ada, "123456").await.refused(422, "code_invalid");
        }
        contact.confirm(world, &ada, "123456").await.refused(429, "identity_locked_out");
    })
    .await;
}

#[tokio::test]
async fn ten_wrong_codes_lock_the_contact_out_for_every_customer() {
    of_both(async |world, contact| {
        let ada = token(&world.register(contact.old).await);
        let bob = token(&world.register(BOB).await);
        contact.ask(world, &ada, contact.new).await.ok(200);
        let adas = world.last_code();
        for _ in 0..5 {
            contact.confirm(world, &ada, wrong(&adas)).await;
        }
        world.pass(TimeDelta::seconds(30));
        contact.ask(world, &bob, contact.new).await.ok(200);
        let bobs = world.last_code();
        for _ in 0..4 {
            contact.confirm(world, &bob, wrong(&bobs)).await.refused(422, "code_invalid");
        }
        contact.confirm(world, &bob, wrong(&bobs)).await.refused(429, "identity_locked_out");
        contact.confirm(world, &bob, bobs).await.refused(429, "identity_locked_out");
        world.open_account(contact.new, "123456").await.refused(429, "identity_locked_out");
    })
    .await;
}

#[tokio::test]
async fn a_code_for_one_does_not_verify_another() {
    of_both(async |world, contact| {
        let ada = token(&world.register(contact.old).await);
        contact.ask(world, &ada, contact.new).await.ok(200);
        let first = world.last_code();
        contact.ask(world, &ada, contact.other).await.ok(200);
        let second = world.last_code();
        if first != second {
            contact.confirm(world, &ada, first).await.refused(422, "code_invalid");
        }
        let saved = contact.confirm(world, &ada, second).await.ok(200);
        contact.is_proven(&saved["customer"], contact.other);
    })
    .await;
}

#[tokio::test]
async fn who_asks_for_two_in_turn_gets_one_message_a_minute_for_each_and_uses_what_was_asked_for_last() {
    of_both(async |world, contact| {
        let ada = token(&world.register(contact.old).await);
        let before = world.messages().len();
        contact.ask(world, &ada, contact.new).await.ok(200);
        let first = world.last_code();
        for asked in [contact.other, contact.new, contact.other, contact.new] {
            world.pass(TimeDelta::seconds(10));
            contact.ask(world, &ada, asked).await.ok(200);
        }
        assert_eq!(world.messages().len(), before + 2);
        let saved = contact.confirm(world, &ada, first).await.ok(200);
        contact.is_proven(&saved["customer"], contact.new);
    })
    .await;
}

#[tokio::test]
async fn a_code_for_one_kind_does_not_verify_the_other() {
    of_both(async |world, contact| {
        let ada = token(&world.register(contact.old).await);
        contact.ask(world, &ada, contact.new).await.ok(200);
        let code = world.last_code();
        contact.other_kind().confirm(world, &ada, code.clone()).await.refused(422, "code_invalid");
        contact.confirm(world, &ada, code).await.ok(200);
    })
    .await;
}

#[tokio::test]
async fn a_code_verifies_only_for_the_customer_that_requested_it() {
    of_both(async |world, contact| {
        let ada = token(&world.register(contact.old).await);
        let bob = token(&world.register(BOB).await);
        contact.ask(world, &ada, contact.new).await.ok(200);
        contact.confirm(world, &bob, world.last_code()).await.refused(422, "code_invalid");
        contact.confirm(world, &ada, world.last_code()).await.ok(200);
    })
    .await;
}

#[tokio::test]
async fn a_closed_account_cannot_verify_a_contact_with_an_earlier_code() {
    of_both(async |world, contact| {
        let ada = token(&world.register(contact.old).await);
        world.pass(TimeDelta::minutes(1));
        contact.ask(world, &ada, contact.new).await.ok(200);
        let code = world.last_code();
        world.storefront("customers/account-closure").token(&ada).send().await.ok(200);
        let body = json!({ "code": world.last_code() });
        world.storefront("customers/confirm-account-closure").token(&ada).json(&body).send().await.ok(200);
        contact.confirm(world, &ada, code).await.refused(401, "customer_token_invalid");
        contact.ask(world, &ada, contact.other).await.refused(401, "customer_token_invalid");
        assert_eq!(world.count("select count(*) from verification_codes where purpose like 'verify_%'").await, 0);
    })
    .await;
}

#[tokio::test]
async fn a_code_sent_to_a_replaced_contact_is_refused() {
    of_both(async |world, contact| {
        let ada = token(&world.register(contact.old).await);
        world.pass(TimeDelta::minutes(1));
        ask_to_sign_in(world, contact.old).await.ok(200);
        let to_the_old_one = world.last_code();
        contact.change(world, &ada, contact.new).await;
        world.verify(contact.old, to_the_old_one).await.refused(422, "code_invalid");
    })
    .await;
}

/// Changes to the new contact while requested codes are not stored yet.
async fn change_while_codes_are_under_way(world: &World, token: &str, contact: Contact) {
    sqlx::query("create table under_way as select * from verification_codes where purpose = 'sign_in'").execute(&world.pool).await.unwrap();
    contact.change(world, token, contact.new).await;
    sqlx::query("insert into verification_codes select * from under_way").execute(&world.pool).await.unwrap();
}

#[tokio::test]
async fn a_code_requested_before_a_change_and_stored_after_it_is_refused() {
    of_both(async |world, contact| {
        let ada = token(&world.register(contact.old).await);
        world.pass(TimeDelta::minutes(1));
        ask_to_sign_in(world, contact.old).await.ok(200);
        let to_the_old_one = world.last_code();
        change_while_codes_are_under_way(world, &ada, contact).await;
        reset_password(world, contact.old, to_the_old_one.clone(), PASSWORD).await.refused(422, "code_invalid");
        world.verify(contact.old, to_the_old_one).await.refused(422, "code_invalid");
        assert_eq!(world.count("select count(*) from customer_tokens where revoked_at is null").await, 1);
    })
    .await;
}

#[tokio::test]
async fn a_code_requested_by_number_and_mailed_to_a_replaced_address_is_refused() {
    let world = World::new().await;
    let ada = token(&world.register(PHONE).await);
    ADDRESS.change(&world, &ada, EMAIL).await;
    sqlx::query("update stores set texts_paused_at = now(), texts_paused_reason = 'by hand'").execute(&world.pool).await.unwrap();
    assert_eq!(ask_to_sign_in(&world, PHONE).await.ok(200)["method"], "email");
    assert_eq!(world.messages()[0].to, EMAIL);
    let to_the_old_address = world.last_code();
    change_while_codes_are_under_way(&world, &ada, ADDRESS).await;
    reset_password(&world, PHONE, to_the_old_address.clone(), PASSWORD).await.refused(422, "code_invalid");
    world.verify(PHONE, to_the_old_address).await.refused(422, "code_invalid");
    assert_eq!(world.count("select count(*) from customer_tokens where revoked_at is null").await, 1);
}
