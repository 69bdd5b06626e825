//! Verifying a number (interface 1, rules 6 and 7) or a mail address after registration: first the rules for both kinds of contact,
//! then those for one of them.

use chrono::TimeDelta;
use futures::future::join;
use serde_json::{Value, json};

use crate::support::customers::{EMAIL, PHONE, token, wrong};
use crate::support::{Answer, World};

/// A kind of contact, and how it differs from the other.
#[derive(Clone, Copy)]
struct Contact {
    /// The field in a body and in a customer.
    member: &'static str,
    /// The routes that request and check a code for a new contact.
    request: &'static str,
    verify: &'static str,
    /// How the code is sent.
    method: &'static str,
    /// The error if the contact belongs to another account.
    taken: &'static str,
    /// The contact that a customer has, and two others to change it to.
    old: &'static str,
    new: &'static str,
    other: &'static str,
    /// The new contact in spellings that people use.
    spellings: [&'static str; 3],
}

const NUMBER: Contact = Contact {
    member: "phone",
    request: "customers/request-phone-verification",
    verify: "customers/verify-phone-number",
    method: "sms",
    taken: "phone_taken",
    old: PHONE,
    new: "+12015550199",
    other: "+12025550177",
    spellings: ["+12015550199", "1 (201) 555-0199", "+１２０１５５５０１９９"],
};

const ADDRESS: Contact = Contact {
    member: "email",
    request: "customers/request-email-verification",
    verify: "customers/verify-email",
    method: "email",
    taken: "email_taken",
    old: EMAIL,
    new: "ada@lovelace.example",
    other: "countess@lovelace.example",
    spellings: ["ada@lovelace.example", "ADA@Lovelace.EXAMPLE", " ada@lovelace。example "],
};

const BOB: &str = "bob@example.com";

impl Contact {
    fn other_kind(self) -> Self {
        if self.member == NUMBER.member { ADDRESS } else { NUMBER }
    }

    async fn ask(self, world: &World, token: &str, contact: &str) -> Answer {
        world.storefront(self.request).token(token).json(&json!({ self.member: contact })).send().await
    }

    async fn confirm(self, world: &World, token: &str, code: impl Into<Value>) -> Answer {
        world.storefront(self.verify).token(token).json(&json!({ "code": code.into() })).send().await
    }

    async fn change(self, world: &World, token: &str, contact: &str) -> Value {
        self.ask(world, token, contact).await.ok(200);
        self.confirm(world, token, world.last_code()).await.ok(200)["customer"].clone()
    }

    /// Asserts that the customer has this contact and has proven it.
    #[track_caller]
    fn is_proven(self, customer: &Value, contact: &str) {
        let proven = &customer[format!("{}_verified", self.member)];
        assert_eq!((&customer[self.member], proven), (&json!(contact), &json!(true)));
    }
}

/// Runs a test for both kinds, each in its own world.
async fn of_both(story: impl AsyncFn(&World, Contact)) {
    for contact in [NUMBER, ADDRESS] {
        #[expect(clippy::print_stdout, reason = "if a test fails, the last line that it printed names the kind")]
        {
            println!("{}", contact.member);
        }
        story(&World::new().await, contact).await;
    }
}

async fn me(world: &World, token: &str) -> Value {
    world.storefront_get("customers/me").token(token).send().await.ok(200)
}

async fn ask_to_sign_in(world: &World, identity: &str) -> Answer {
    world.storefront("customers/login-with-sms").json(&json!({ "identity": identity })).send().await
}

async fn reset_password(world: &World, identity: &str, code: &str) -> Answer {
    let body = json!({ "identity": identity, "code": code, "password": "battery staple" });
    world.storefront("customers/reset-password").json(&body).send().await
}

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
        contact.confirm(world, &ada, code).await.refused(422, "code_invalid");
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
        reset_password(world, contact.old, &to_the_old_one).await.refused(422, "code_invalid");
        world.verify(contact.old, to_the_old_one).await.refused(422, "code_invalid");
        assert_eq!(world.count("select count(*) from customer_tokens where revoked_at is null").await, 1);
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
async fn the_code_lives_ten_minutes_and_five_guesses_lock_it() {
    of_both(async |world, contact| {
        let ada = token(&world.register(contact.old).await);
        contact.ask(world, &ada, contact.new).await.ok(200);
        let code = world.last_code();
        world.pass(TimeDelta::minutes(10));
        contact.confirm(world, &ada, code).await.refused(422, "code_expired");
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
    reset_password(&world, PHONE, &to_the_old_address).await.refused(422, "code_invalid");
    world.verify(PHONE, to_the_old_address).await.refused(422, "code_invalid");
    assert_eq!(world.count("select count(*) from customer_tokens where revoked_at is null").await, 1);
}

/// The notices of changes, newest first: recipient and body.
fn notices(world: &World) -> Vec<(String, String)> {
    let notices = world.messages().into_iter().filter(|message| message.code.is_none());
    notices.map(|message| (message.to, message.text)).collect()
}

#[tokio::test]
async fn the_previously_verified_address_gets_a_notice_of_a_change() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
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
    // The notice is in the language of the request that makes the change.
    world.pass(TimeDelta::minutes(2));
    ADDRESS.ask(&world, &ada, ADDRESS.other).await.ok(200);
    let code = json!({ "code": world.last_code() });
    world.storefront(ADDRESS.verify).token(&ada).json(&code).header("accept-language", "de").send().await.ok(200);
    assert_eq!(notices(&world)[0].0, ADDRESS.new);
    assert!(notices(&world)[0].1.contains("gehört nicht mehr dazu"));
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
