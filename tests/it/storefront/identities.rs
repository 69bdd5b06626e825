//! Identities: all spellings of a number or mailbox are one identity with one limit (decisions, section 3).

use chrono::TimeDelta;
use serde_json::{Value, json};

use crate::support::customers::{EMAIL, PASSWORD, PHONE, ask_to_register, token, wrong};
use crate::support::smtp::SmtpSink;
use crate::support::{Answer, World};

const NUMBERS: &[&str] = &[
    "+12015550123",
    "12015550123",
    "+1 (201) 555-0123",
    " +1.201.555.0123 ",
    "+1\u{a0}201\u{a0}555\u{a0}0123",
    "＋１２０１５５５０１２３",
    "+1\u{2010}201\u{2013}555\u{2212}0123",
    "+1 201/555-0123",
    "+۱۲۰۱۵۵۵۰۱۲۳",
    // As messengers wrap it.
    "\u{202a}+1\u{a0}201\u{2011}555\u{2011}0123\u{202c}",
];
const MAILBOXES: &[(&str, &[&str])] = &[
    (EMAIL, &[EMAIL, "ADA@EXAMPLE.COM", " Ada@Example.com ", "ada@example。com", "ada@ｅｘａｍｐｌｅ.com", "ada@exa\u{ad}mple.com"]),
    ("ada@xn--bcher-kva.example", &["ada@bücher.example", "Ada@BÜCHER.example", "ada@XN--BCHER-KVA.example", "ada@bu\u{308}cher.example"]),
];

async fn ask(world: &World, mode: &str, identity: &str) -> Answer {
    let body = json!({ "mode": mode, "identity": identity });
    world.storefront("customers/request-creation-code").json(&body).send().await
}

#[tokio::test]
async fn every_spelling_of_a_number_is_one_identity_and_one_limit() {
    let world = World::new().await;
    ask_to_register(&world, PHONE).await.ok(200);
    for spelling in NUMBERS {
        ask(&world, "sms", spelling).await.ok(200);
    }
    assert_eq!(world.messages().len(), 1, "one message per minute");
    let code = world.last_code();
    for (spelling, left) in NUMBERS.iter().zip([4, 3, 2, 1]) {
        assert_eq!(world.open_account(spelling, &wrong(&code)).await.refused(422, "code_invalid")["attempts_left"], left);
    }
    let body = json!({ "name": "Ada", "identity": NUMBERS[5], "code": code, "password": PASSWORD });
    let login = world.storefront("customers").json(&body).send().await.ok(201);
    assert_eq!(login["customer"]["phone"], PHONE);
    let bob = token(&world.register("bob@example.com").await);
    world.pass(TimeDelta::minutes(2));
    for spelling in NUMBERS {
        ask(&world, "sms", spelling).await.refused(422, "account_exists");
        let body = json!({ "phone": spelling });
        world.storefront("customers/request-phone-verification").token(&bob).json(&body).send().await.refused(422, "phone_taken");
        world.storefront("customers/login-with-sms").json(&body).send().await.ok(200);
    }
    assert_eq!(world.count("select count(*) from texts where status = 'sent'").await, 2);
    assert_eq!(world.verify(NUMBERS[2], world.last_code()).await.ok(200)["customer"]["id"], login["customer"]["id"]);
    for spelling in NUMBERS.iter().cycle().take(10) {
        let body = json!({ "identity": spelling, "password": "wrong password" });
        world.storefront("customers/login").json(&body).send().await.refused(401, "credentials_invalid");
    }
    let body = json!({ "identity": PHONE, "password": PASSWORD });
    world.storefront("customers/login").json(&body).send().await.refused(429, "password_attempts_exceeded");
}

#[tokio::test]
async fn a_mobile_number_is_texted_as_people_in_its_country_write_it() {
    let world = World::new().await;
    for (written, texted, written_again) in
        [("+54 11 2345-6789", "+5491123456789", "+54 9 11 2345 6789"), ("+52 1 55 1234 5678", "+525512345678", "+52 55 1234 5678")]
    {
        ask_to_register(&world, written).await.ok(200);
        assert_eq!(world.messages()[0].to, texted);
        let code = world.last_code();
        let body = json!({ "name": "Ada", "phone": written_again, "code": code, "password": PASSWORD });
        assert_eq!(world.storefront("customers").json(&body).send().await.ok(201)["customer"]["phone"], texted);
        let body = json!({ "identity": written, "password": PASSWORD });
        world.storefront("customers/login").json(&body).send().await.ok(200);
    }
}

#[tokio::test]
async fn every_spelling_of_a_mailbox_is_one_identity_and_one_limit() {
    for (key, spellings) in MAILBOXES {
        let world = World::new().await;
        ask_to_register(&world, key).await.ok(200);
        for spelling in *spellings {
            ask(&world, "email", spelling).await.ok(200);
        }
        assert_eq!(world.messages().len(), 1, "{key}: one message a minute");
        let code = world.last_code();
        for (spelling, left) in spellings.iter().zip([4, 3, 2, 1]) {
            assert_eq!(world.open_account(spelling, &wrong(&code)).await.refused(422, "code_invalid")["attempts_left"], left);
        }
        let body = json!({ "name": "Ada", "email": spellings[3], "password": PASSWORD, "code": code });
        world.storefront("customers").json(&body).send().await.ok(201);
        for spelling in *spellings {
            ask(&world, "email", spelling).await.refused(422, "account_exists");
        }
        for spelling in spellings.iter().cycle().take(10) {
            let body = json!({ "identity": spelling, "password": "wrong password" });
            world.storefront("customers/login").json(&body).send().await.refused(401, "credentials_invalid");
        }
        let body = json!({ "identity": key, "password": PASSWORD });
        world.storefront("customers/login").json(&body).send().await.refused(429, "password_attempts_exceeded");
    }
}

#[tokio::test]
async fn an_invalid_mailbox_is_refused() {
    let world = World::new().await;
    for text in [
        "ada@example.com.",
        "ada@",
        "ada@localhost",
        "ada@[127.0.0.1]",
        "a\u{200b}da@example.com",
        "ada\u{202e}@example.com",
        "ada@@example.com",
        "ädä@example.com",
    ] {
        ask(&world, "email", text).await.refused(422, "body_invalid");
    }
    assert_eq!(world.messages().len(), 0);
}

/// The headers of a mail, in lower case.
const HEADERS: &[&str] =
    &["from", "to", "subject", "message-id", "auto-submitted", "date", "mime-version", "content-type", "content-transfer-encoding"];

/// Texts that would change a message if they were inserted into it unescaped.
const INJECTIONS: &[&str] =
    &["\r\nBcc: eve@example.com", "\nSubject: x\n\nx", "{code}", "{{7*7}}", "${7*7}", "<b>x</b>", "%0d%0aBcc:x", "\u{2028}x"];

#[tokio::test]
async fn line_ends_and_templates_in_any_field_change_no_message() {
    let sink = SmtpSink::start(false).await;
    let world = World::with(&[("mail.smtp_url", &sink.url())]).await;
    for text in INJECTIONS {
        for good in [EMAIL, PHONE] {
            for identity in [format!("{good}{text}"), format!("{text}{good}")] {
                for (path, body) in [
                    ("customers/request-creation-code", json!({ "mode": "email", "identity": identity })),
                    ("customers/request-creation-code", json!({ "mode": "sms", "identity": identity })),
                    ("customers/request-creation-code", json!({ "mode": identity, "identity": good })),
                    ("customers/login-with-sms", json!({ "phone": identity })),
                    ("customers/verify-code", json!({ "identity": identity, "code": "123456" })),
                    ("customers", json!({ "name": "Ada", "identity": identity, "code": "123456" })),
                ] {
                    let answer = world.storefront(path).json(&body).send().await;
                    // By the standard, an address with braces is a mailbox of its own; it gets an ordinary mail.
                    assert!(answer.status == 422 || (answer.status == 200 && body["mode"] == "email"), "{path} {body}: {answer:?}");
                }
            }
        }
    }
    // A name that looks like a template is not expanded.
    for (n, name) in ["{code} {store}", "{{7*7}} ${7*7} <%= 7*7 %>", "<script>alert(1)</script>"].into_iter().enumerate() {
        let email = format!("customer{n}@example.com");
        let body = json!({ "name": name, "email": email, "code": world.creation_code(&email).await });
        let login = world.storefront("customers").json(&body).send().await.ok(201);
        assert_eq!(login["customer"]["name"], name);
        world.storefront("customers/account-closure").token(&token(&login)).send().await.ok(200);
    }
    let mails = sink.mails();
    assert!(mails.len() >= 6);
    for mail in mails {
        let headers = mail.split("\n\n").next().unwrap().to_ascii_lowercase();
        let names: Vec<_> =
            headers.lines().filter(|line| !line.starts_with([' ', '\t'])).filter_map(|line| line.split(':').next()).collect();
        assert!(names.iter().all(|name| HEADERS.contains(name)), "{headers}");
        assert!(!mail.contains("7*7 %>") && !mail.contains("<script>"), "no mail contains a name: {mail}");
    }
    for message in world.messages() {
        assert!(!message.text.contains("{code}") && !message.text.contains("eve@"), "{}", message.text);
    }
}

#[tokio::test]
async fn an_identity_of_another_kind_is_no_identity() {
    let world = World::new().await;
    for identity in [json!(12_015_550_123_u64), json!([PHONE]), json!({ "$ne": 1 }), json!(true), Value::Null] {
        for (path, body) in [
            ("customers/request-creation-code", json!({ "mode": "sms", "identity": identity })),
            ("customers/login-with-sms", json!({ "phone": identity })),
            ("customers/login", json!({ "identity": identity, "password": PASSWORD })),
            ("customers/login", json!({ "identity": EMAIL, "password": identity })),
            ("customers/verify-code", json!({ "identity": identity, "code": "123456" })),
            ("customers", json!({ "name": "Ada", "identity": identity, "code": "123456" })),
        ] {
            world.storefront(path).json(&body).send().await.refused(422, "body_invalid");
        }
    }
    assert_eq!(world.messages().len(), 0);
}
