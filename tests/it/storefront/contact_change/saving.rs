//! The contact that is saved: which spelling of it, who loses it, and who gets a notice.

use chrono::TimeDelta;
use futures::future::join;
use serde_json::{Value, json};

use super::{ADDRESS, BOB, NUMBER, of_both};
use crate::support::World;
use crate::support::customers::{EMAIL, PHONE, ask_to_sign_in, me, token, wrong};

#[tokio::test]
async fn the_code_goes_to_the_requested_contact_which_is_saved_once_verified() {
    of_both(async |world, contact| {
        let ada = token(&world.register(contact.old).await);
        let answer = contact.ask(world, &ada, contact.new).await.ok(200);
        assert_eq!(answer, json!({ "status": "ok", "method": contact.method }));
        assert_eq!(world.messages()[0].to, contact.new);
        assert_eq!(me(world, &ada).await[contact.member], contact.old);

        let code = world.last_code();
        let refusal = contact.confirm(world, &ada, wrong(&code)).await.refused(422, "code_invalid");
        assert_eq!(refusal["attempts_left"], 4);
        let saved = contact.confirm(world, &ada, code.clone()).await.ok(200);
        contact.is_proven(&saved["customer"], contact.new);
        assert_eq!(me(world, &ada).await, saved["customer"]);
        assert_eq!(world.count("select count(*) from events where name = 'customer.updated'").await, 1);
        contact.confirm(world, &ada, code).await.refused(422, "code_used");
    })
    .await;
}

#[tokio::test]
async fn the_new_contact_signs_in_and_the_old_one_belongs_to_no_account() {
    of_both(async |world, contact| {
        let login = world.register(contact.old).await;
        contact.change(world, &token(&login), contact.new).await;
        world.pass(TimeDelta::minutes(1));
        ask_to_sign_in(world, contact.old).await.refused(422, "customer_not_found");
        assert_eq!(ask_to_sign_in(world, contact.new).await.ok(200)["method"], contact.method);
        assert_eq!(world.verify(contact.new, world.last_code()).await.ok(200)["customer"]["id"], login["customer"]["id"]);
        world.register(contact.old).await;
    })
    .await;
}

#[tokio::test]
async fn a_customer_without_the_contact_gains_it_and_keeps_the_other_kind() {
    of_both(async |world, contact| {
        let kept = contact.other_kind();
        let ada = token(&world.register(kept.old).await);
        assert_eq!(me(world, &ada).await[contact.member], Value::Null);
        let saved = contact.change(world, &ada, contact.new).await;
        contact.is_proven(&saved, contact.new);
        kept.is_proven(&saved, kept.old);
        let saved = kept.change(world, &ada, kept.new).await;
        contact.is_proven(&saved, contact.new);
        kept.is_proven(&saved, kept.new);
    })
    .await;
}

#[tokio::test]
async fn a_customer_verifies_an_unverified_contact_of_the_account() {
    of_both(async |world, contact| {
        let login = world.register_with(contact.other_kind().old, json!({ contact.member: contact.new })).await;
        assert_eq!(login["customer"][format!("{}_verified", contact.member)], false);
        contact.is_proven(&contact.change(world, &token(&login), contact.new).await, contact.new);
    })
    .await;
}

#[tokio::test]
async fn a_contact_of_another_account_is_refused_in_every_spelling() {
    of_both(async |world, contact| {
        world.register(contact.new).await;
        let bob = token(&world.register(BOB).await);
        for spelling in contact.spellings {
            contact.ask(world, &bob, spelling).await.refused(422, contact.taken);
        }
        assert_eq!(world.messages().len(), 2, "one for each registration");
    })
    .await;
}

#[tokio::test]
async fn every_spelling_is_one_and_the_plain_one_is_sent_to_and_saved() {
    of_both(async |world, contact| {
        let ada = token(&world.register(contact.old).await);
        for spelling in contact.spellings.into_iter().rev() {
            contact.ask(world, &ada, spelling).await.ok(200);
        }
        assert_eq!(world.messages().len(), 2, "one message per minute, in addition to that of the registration");
        assert_eq!(world.messages()[0].to, contact.new);
        let saved = contact.confirm(world, &ada, world.last_code()).await.ok(200);
        contact.is_proven(&saved["customer"], contact.new);
    })
    .await;
}

#[tokio::test]
async fn a_body_without_the_contact_is_refused() {
    of_both(async |world, contact| {
        let ada = token(&world.register(contact.old).await);
        for body in [json!({}), json!({ contact.member: null }), json!({ contact.member: 7 }), json!({ contact.member: [contact.new] })] {
            let refusal = world.storefront(contact.request).token(&ada).json(&body).send().await.refused(422, "body_invalid");
            assert!(refusal["fields"][contact.member].is_array(), "{refusal}");
        }
    })
    .await;
}

#[tokio::test]
async fn parallel_verifications_of_one_contact_give_it_to_one_customer() {
    for _ in 0..5 {
        of_both(async |world, contact| {
            let ada = token(&world.register(contact.old).await);
            let bob = token(&world.register(BOB).await);
            contact.ask(world, &ada, contact.new).await.ok(200);
            let adas = world.last_code();
            world.pass(TimeDelta::seconds(30));
            contact.ask(world, &bob, contact.new).await.ok(200);
            let bobs = world.last_code();
            let (first, second) = join(contact.confirm(world, &ada, adas), contact.confirm(world, &bob, bobs)).await;
            let (winner, loser) = if first.status == 200 { (first, second) } else { (second, first) };
            contact.is_proven(&winner.ok(200)["customer"], contact.new);
            loser.refused(422, contact.taken);
            let customers = [me(world, &ada).await, me(world, &bob).await];
            assert_eq!(customers.iter().filter(|customer| customer[contact.member] == contact.new).count(), 1);
        })
        .await;
    }
}

#[tokio::test]
async fn two_customers_that_prove_each_others_unproven_contacts_do_not_deadlock() {
    for _ in 0..5 {
        of_both(async |world, contact| {
            let registered = contact.other_kind();
            let ada = token(&world.register_with(registered.old, json!({ contact.member: contact.new })).await);
            let bob = token(&world.register_with(registered.new, json!({ contact.member: contact.other })).await);
            contact.ask(world, &ada, contact.other).await.ok(200);
            let adas = world.last_code();
            contact.ask(world, &bob, contact.new).await.ok(200);
            let bobs = world.last_code();
            let (adas, bobs) = join(contact.confirm(world, &ada, adas), contact.confirm(world, &bob, bobs)).await;
            contact.is_proven(&adas.ok(200)["customer"], contact.other);
            contact.is_proven(&bobs.ok(200)["customer"], contact.new);
        })
        .await;
    }
}

#[tokio::test]
async fn an_account_that_merely_lists_a_contact_loses_it() {
    of_both(async |world, contact| {
        let eve = token(&world.register_with(contact.other_kind().old, json!({ contact.member: contact.new })).await);
        let ada = token(&world.register(contact.old).await);
        contact.change(world, &ada, contact.new).await;
        assert_eq!(me(world, &eve).await[contact.member], Value::Null);
        assert_eq!(world.count("select count(*) from events where name = 'customer.updated'").await, 2);
    })
    .await;
}

#[tokio::test]
async fn invalid_numbers_and_numbers_that_cannot_receive_texts_are_refused() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    NUMBER.ask(&world, &ada, "+442079460018").await.refused(422, "number_unreachable");
    NUMBER.ask(&world, &ada, "hello").await.refused(422, "number_invalid");
}

#[tokio::test]
async fn an_invalid_address_is_refused() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    for text in ["", "ada", "ada@localhost", PHONE] {
        let refusal = ADDRESS.ask(&world, &ada, text).await.refused(422, "body_invalid");
        assert!(refusal["fields"]["email"].is_array(), "{refusal}");
    }
}

#[tokio::test]
async fn an_address_below_a_domain_of_other_letters_is_the_one_below_its_plain_name() {
    let world = World::new().await;
    let ada = token(&world.register(PHONE).await);
    for spelling in ["Ada@BÜCHER.example", "ada@xn--bcher-kva.example", " ADA@bücher.example "] {
        ADDRESS.ask(&world, &ada, spelling).await.ok(200);
    }
    assert_eq!(world.messages().len(), 2, "one message per minute, in addition to that of the registration");
    assert_eq!(world.messages()[0].to, "ada@xn--bcher-kva.example");
    let saved = ADDRESS.confirm(&world, &ada, world.last_code()).await.ok(200);
    assert_eq!(saved["customer"]["email"], "ada@xn--bcher-kva.example");
    ask_to_sign_in(&world, "ADA@Bücher.example").await.ok(200);
}

/// The mails that tell of changes, newest first: recipient and body.
fn notices(world: &World) -> Vec<(String, String)> {
    let notices = world.messages().into_iter().filter(|message| message.code.is_none() && message.to.contains('@'));
    notices.map(|message| (message.to, message.text)).collect()
}

#[tokio::test]
async fn the_previously_verified_address_gets_a_notice_of_a_change() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    world.pass(TimeDelta::seconds(1));
    NUMBER.change(&world, &ada, NUMBER.old).await;
    assert_eq!(notices(&world)[0].0, EMAIL);
    assert!(notices(&world)[0].1.contains("A new phone number was saved for your account at Acme Shop."));
    world.pass(TimeDelta::minutes(2));
    NUMBER.change(&world, &ada, NUMBER.new).await;
    assert_eq!(notices(&world).len(), 2);
    ADDRESS.change(&world, &ada, ADDRESS.new).await;
    assert_eq!((notices(&world).len(), notices(&world)[0].0.as_str()), (3, EMAIL));
    assert!(notices(&world)[0].1.contains("This one no longer belongs to it."));
    // Verifying the current contact again changes nothing and sends no notice.
    world.pass(TimeDelta::minutes(2));
    ADDRESS.change(&world, &ada, ADDRESS.new).await;
    NUMBER.change(&world, &ada, NUMBER.new).await;
    assert_eq!(notices(&world).len(), 3);
    // No language of the customer is known, so the notice is in that of the request.
    world.pass(TimeDelta::minutes(2));
    ADDRESS.ask(&world, &ada, ADDRESS.other).await.ok(200);
    let code = json!({ "code": world.last_code() });
    world.storefront(ADDRESS.verify).token(&ada).json(&code).header("accept-language", "de").send().await.ok(200);
    assert_eq!(notices(&world)[0].0, ADDRESS.new);
    assert!(notices(&world)[0].1.contains("wurde eine andere Telefonnummer oder E-Mail-Adresse gespeichert"));
}

#[tokio::test]
async fn an_unverified_address_gets_no_notice() {
    let world = World::new().await;
    let ada = token(&world.register_with(PHONE, json!({ "email": EMAIL })).await);
    NUMBER.change(&world, &ada, NUMBER.new).await;
    ADDRESS.change(&world, &ada, ADDRESS.new).await;
    assert!(notices(&world).is_empty());
}

#[tokio::test]
async fn a_change_is_kept_even_if_the_notice_cannot_be_sent() {
    let world = World::with(&[("mail.smtp_url", "smtp://127.0.0.1:1")]).await;
    let ada = token(&world.register(PHONE).await);
    sqlx::query("update customers set email = $1, email_verified_at = now()").bind(EMAIL).execute(&world.pool).await.unwrap();
    world.pass(TimeDelta::seconds(1));
    let changed = NUMBER.change(&world, &ada, NUMBER.new).await;
    assert_eq!(changed["phone"], NUMBER.new);
}
