//! Mails go out by the server or the endpoint of the company.

use std::net::TcpListener;

use portico::callers::Scope;
use serde_json::{Value, json};

use super::{SEND_AGAIN, by_hook, data, with};
use crate::support::World;
use crate::support::customers::{EMAIL, PHONE, ask_to_register};
use crate::support::receiver::Reply;
use crate::support::smtp::{SmtpSink, code_in};

/// The body that makes this mail server on loopback the company's.
fn by_server(world: &World, server: &SmtpSink) -> Value {
    world.resolver.insert("mail.test", &["127.0.0.1".parse().unwrap()]);
    let port: u16 = server.url().rsplit_once(':').unwrap().1.parse().unwrap();
    let settings = json!({ "host": "mail.test", "port": port, "security": "none", "from": "Acme <shop@acme.example>" });
    json!({ "channel": "email", "kind": "smtp", "settings": settings })
}

#[tokio::test]
async fn the_mail_server_of_a_company_gets_its_mails_and_nobody_elses() {
    let [deployment, own] = [SmtpSink::start(false).await, SmtpSink::start(false).await];
    let world = World::with(&[("mail.smtp_url", &deployment.url())]).await;
    let (other, _) = world.another_company(&Scope::ALL).await;
    let (_, their_key) = world.store_of(other).await;
    let made = world.make_message_provider(by_server(&world, &own)).await.ok(201);
    ask_to_register(&world, EMAIL).await.ok(200);
    let mails = own.mails();
    assert!(mails.len() == 1 && mails[0].contains("From: Acme <shop@acme.example>"), "{mails:?}");
    assert_eq!(code_in(&mails[0]), world.last_code());
    let body = json!({ "identity": "bob@example.com", "mode": "email" });
    world.storefront("customers/request-creation-code").key(&their_key).json(&body).send().await.ok(200);
    assert_eq!((own.mails().len(), deployment.mails().len()), (1, 1));

    // What it says of a mailbox is believed; what it says of itself is a failure, after which the deployment may send.
    own.refuse(true);
    world.change_message_provider(&made, json!({ "falls_back": true })).await.ok(200);
    ask_to_register(&world, "eve@example.com").await.refused(422, "email_unreachable");
    own.answer("RCPT", "450 later");
    ask_to_register(&world, "eve@example.com").await.ok(200);
    assert_eq!((own.mails().len(), deployment.mails().len()), (1, 2));
    world.change_message_provider(&made, json!({ "falls_back": false })).await.ok(200);
    ask_to_register(&world, "mia@example.com").await.refused(502, "message_not_sent");
    assert_eq!(deployment.mails().len(), 2);

    own.refuse(false);
    let tested = world.test_message_provider(&made, EMAIL).await.ok(200);
    assert_eq!((&tested["ok"], own.mails().len()), (&json!(true), 2));
    world.test_message_provider(&made, PHONE).await.refused(422, "body_invalid");
}

#[tokio::test]
async fn a_mail_server_that_does_not_greet_has_not_taken_the_mail() {
    let [deployment, own] = [SmtpSink::start(false).await, SmtpSink::start(false).await];
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let world = World::with(&[("mail.smtp_url", &deployment.url()), ("mail.timeout", "3s")]).await;
    let body = by_server(&world, &own);
    let port = json!({ "port": silent.local_addr().unwrap().port() });
    let settings = with(body["settings"].clone(), &port);
    let made = world.make_message_provider(with(body.clone(), &json!({ "settings": settings, "falls_back": true }))).await.ok(201);
    ask_to_register(&world, EMAIL).await.ok(200);
    assert_eq!(deployment.mails().len(), 1);
    world.change_message_provider(&made, json!({ "falls_back": false })).await.ok(200);
    ask_to_register(&world, "bob@example.com").await.refused(502, "message_not_sent");

    // One that has got the mail may have taken it.
    own.fall_silent();
    world.change_message_provider(&made, json!({ "settings": body["settings"], "falls_back": true })).await.ok(200);
    ask_to_register(&world, "eve@example.com").await.ok(200);
    assert_eq!((own.mails().len(), deployment.mails().len()), (1, 1));
}

#[tokio::test]
async fn the_endpoint_of_a_company_gets_its_mails_with_subject_and_page() {
    let world = World::new().await;
    let hook = world.hook("mail.test").await;
    world.make_message_provider(with(by_hook(&hook), &json!({ "channel": "email" }))).await.ok(201);
    world.make_message_provider(by_hook(&hook)).await.ok(201);
    ask_to_register(&world, EMAIL).await.ok(200);
    let sent = data(&world, &hook.only());
    assert_eq!((&sent["channel"], &sent["to"], &sent["code"]), (&json!("email"), &json!(EMAIL), &json!(world.last_code())));
    assert!(sent["subject"].is_string() && sent["html"].as_str().unwrap().contains("<p"), "{sent}");
    hook.will([Reply::status(400)]);
    ask_to_register(&world, "bob@example.com").await.refused(502, "message_not_sent");
}

#[tokio::test]
async fn a_mail_server_inside_is_never_connected_to_and_no_password_goes_there_in_the_clear() {
    let (deployment, own) = (SmtpSink::start(false).await, SmtpSink::start(false).await);
    let world = World::with(&[("mail.smtp_url", &deployment.url())]).await;
    world.resolver.insert("inside.test", &["10.0.0.7".parse().unwrap()]);
    let body = by_server(&world, &own);
    let changed = |more: Value| {
        let settings = with(body["settings"].clone(), &more);
        with(body.clone(), &json!({ "settings": settings }))
    };
    for (more, member) in [
        (json!({ "host": "inside.test" }), "settings.host"),
        (json!({ "host": "10.0.0.7" }), "settings.host"),
        (json!({ "host": "[::1]" }), "settings.host"),
        (json!({ "port": 80 }), "settings.port"),
        (json!({ "from": "nobody" }), "settings.from"),
        (json!({ "user": "shop", "security": "starttls" }), "secret"),
        (json!({ "security": "maybe" }), "settings.security"),
    ] {
        let refused = world.make_message_provider(changed(more)).await.refused(422, "body_invalid");
        assert!(refused["fields"].get(member).is_some(), "{member} {refused}");
    }
    let clear = with(changed(json!({ "user": "shop" })), &json!({ "secret": "pa55word" }));
    let refused = world.make_message_provider(clear).await.refused(422, "body_invalid");
    assert_eq!(refused["fields"]["settings.security"][0], "A password is only sent over TLS.");
    let elsewhere = with(body.clone(), &json!({ "channel": "sms" }));
    assert!(world.make_message_provider(elsewhere).await.refused(422, "body_invalid")["fields"].get("kind").is_some());

    // A server that does not begin TLS gets nothing, and a name that leads inside later is not followed.
    let started = with(changed(json!({ "user": "shop", "security": "starttls" })), &json!({ "secret": "pa55word" }));
    let made = world.make_message_provider(started).await.ok(201);
    ask_to_register(&world, EMAIL).await.refused(502, "message_not_sent");
    let plain = json!({ "settings": body["settings"], "secret": null });
    world.change_message_provider(&made, plain).await.ok(200);
    world.resolver.insert("mail.test", &["10.0.0.7".parse().unwrap()]);
    ask_to_register(&world, EMAIL).await.refused(502, "message_not_sent");
    assert_eq!((own.mails().len(), deployment.mails().len()), (0, 0));
}

#[tokio::test]
async fn the_password_of_a_mail_server_goes_to_no_other_server_port_or_protocol() {
    let own = SmtpSink::start(false).await;
    let world = World::new().await;
    let body = by_server(&world, &own);
    world.resolver.insert("elsewhere.test", &["127.0.0.1".parse().unwrap()]);
    let account = with(body["settings"].clone(), &json!({ "user": "shop", "security": "starttls" }));
    let made = world.make_message_provider(with(body, &json!({ "settings": account, "secret": "pa55word" }))).await.ok(201);
    for more in [json!({ "host": "elsewhere.test" }), json!({ "port": 2525 }), json!({ "security": "tls" })] {
        let moved = json!({ "settings": with(account.clone(), &more) });
        let refused = world.change_message_provider(&made, moved).await.refused(422, "body_invalid");
        assert_eq!(refused["fields"], json!({ "secret": [SEND_AGAIN] }), "{more}");
    }
    // Another sender at the same server is no other address, and neither is anything if the password comes along.
    let sender = with(account.clone(), &json!({ "from": "Acme <news@acme.example>" }));
    world.change_message_provider(&made, json!({ "settings": sender })).await.ok(200);
    let moved = with(account, &json!({ "host": "elsewhere.test" }));
    world.change_message_provider(&made, json!({ "settings": moved, "secret": "pa55word" })).await.ok(200);
}
