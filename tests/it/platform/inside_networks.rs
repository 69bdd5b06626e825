//! A network inside is open to one kind of address, and not to whatever else companies name (decisions, section 7, Targets).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::customers::{EMAIL, PHONE, ask_to_register};
use crate::support::identity_provider::rsa;
use crate::support::smtp::SmtpSink;

const ISSUER: &str = "https://own.example";
const APP: &str = "com.own.shop";

/// The list of each kind of address.
const LISTS: [&str; 5] = [
    "webhooks.allowed_networks",
    "storefront.allowed_networks.registration_hooks",
    "storefront.allowed_networks.identity_providers",
    "storefront.allowed_networks.message_providers",
    "storefront.allowed_networks.mail_servers",
];

/// A world in which loopback is open to the addresses of one list alone.
async fn opened_to(list: &str) -> World {
    World::with(&LISTS.map(|other| (other, if other == list { "127.0.0.0/8" } else { "" }))).await
}

fn identity_provider(url: &str) -> Value {
    json!({ "name": "own-id", "issuers": [ISSUER], "audiences": [APP], "jwks_url": url })
}

fn message_provider(url: &str) -> Value {
    let secret = format!("whsec_{}", STANDARD.encode([7; 32]));
    json!({ "channel": "sms", "kind": "webhook", "settings": { "url": url }, "secret": secret })
}

fn mail_server(host: &str, port: &str) -> Value {
    let port: u16 = port.parse().unwrap();
    let settings = json!({ "host": host, "port": port, "security": "none", "from": "Acme <shop@acme.example>" });
    json!({ "channel": "email", "kind": "smtp", "settings": settings })
}

#[tokio::test]
async fn each_kind_of_address_has_a_list_of_its_own() {
    for list in LISTS {
        let world = opened_to(list).await;
        world.resolver.insert("inside.test", &["127.0.0.1".parse().unwrap()]);
        let url = "https://inside.test:8443/";
        let kinds = [
            ("/developers/int/v1/webhooks", json!({ "url": url })),
            ("/storefront/int/v1/registration-hooks", json!({ "store": world.store, "url": url })),
            ("/storefront/int/v1/identity-providers", identity_provider(url)),
            ("/storefront/int/v1/message-providers", message_provider(url)),
            ("/storefront/int/v1/message-providers", mail_server("inside.test", "2525")),
        ];
        for (of_kind, (path, body)) in LISTS.into_iter().zip(kinds) {
            let answer = world.api(Method::POST, path).json(&body).send().await;
            let expected = if of_kind == list { 201 } else { 422 };
            assert_eq!(answer.status, expected, "{of_kind}, while {list} is open: {}", answer.body);
        }
    }
}

#[tokio::test]
async fn key_sets_texts_and_mails_do_not_go_where_webhooks_go() {
    let world = opened_to("webhooks.allowed_networks").await;
    let receiver = world.endpoint("inside.test").await;
    world.subscribe(&receiver, json!({})).await;
    world.publish("order.created").await;
    world.deliver().await;
    assert_eq!(receiver.count(), 1);

    // Names that lead inside once they are registered.
    let server = SmtpSink::start(false).await;
    world.resolver.insert("moving.test", &["93.184.216.34".parse().unwrap()]);
    let url = receiver.url().replace("inside.test", "moving.test");
    let mails = mail_server("moving.test", server.url().rsplit_once(':').unwrap().1);
    for (kind, body) in
        [("identity-providers", identity_provider(&url)), ("message-providers", message_provider(&url)), ("message-providers", mails)]
    {
        world.api(Method::POST, &format!("/storefront/int/v1/{kind}")).json(&body).send().await.ok(201);
    }
    world.resolver.insert("moving.test", &["127.0.0.1".parse().unwrap()]);
    let now = world.clock.now().timestamp();
    let claims = json!({ "iss": ISSUER, "aud": APP, "sub": "7", "iat": now, "exp": now + 600 });
    let login = world.storefront("customers/login-with-own-id").json(&json!({ "idToken": rsa().sign(&claims) }));
    login.send().await.refused(503, "provider_unavailable");
    ask_to_register(&world, PHONE).await.refused(502, "message_not_sent");
    ask_to_register(&world, EMAIL).await.refused(502, "message_not_sent");
    assert_eq!((receiver.count(), server.mails().len()), (1, 0));
}
