//! Stored data: a dump of the database and the program's own output contain no usable secret.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use portico::callers::Caller;
use portico::config::Config;
use portico::kernel::password_hashing::PasswordHashing;
use portico::operators::{self, OperatorPassword, Role};
use reqwest::Method;
use secrecy::SecretString;
use serde_json::json;
use wiremock::ResponseTemplate;

use crate::support::World;
use crate::support::card_provider::{CardProvider, SECRET_KEY};
use crate::support::customers::{EMAIL, PASSWORD, PHONE, token, wrong};
use crate::support::database;
use crate::support::identity_provider::{IdentityProvider, claims_of_a, rsa};
use crate::support::socket_server::KEY as SOCKET_KEY;

const NEW_PASSWORD: &str = "battery staple correct";

/// Runs every flow that involves a secret; returns the secrets.
async fn eventful() -> (World, Vec<String>) {
    let (idp, cards) = (IdentityProvider::start().await, CardProvider::start().await);
    let (card_url, token_url, revoke_url) = (cards.url(), idp.url("/token"), idp.url("/revoke"));
    let exchange = [
        ("providers.idp_a.client_id", "shop"),
        ("providers.idp_a.client_secret", "s3cret of idp-a"),
        ("providers.idp_a.token_url", token_url.as_str()),
        ("providers.idp_a.revoke_url", revoke_url.as_str()),
        ("providers.card.base_url", card_url.as_str()),
        ("socket.key", SOCKET_KEY),
    ];
    let world = idp.world(&exchange).await;
    let mut secrets =
        vec![PASSWORD.to_owned(), world.api_key.clone(), world.store_key.clone(), SOCKET_KEY.to_owned(), SECRET_KEY.to_owned()];
    let secret_of = |token: &str| token.split_once('|').unwrap().1.to_owned();

    // Codes of all five purposes, used and unused, correct and wrong; a password, and another one; a password in the wrong field.
    let login = world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    let ada = token(&login);
    secrets.extend([world.last_code(), secret_of(&ada)]);
    let body = json!({ "platform": "ios", "token": "push t0ken of a phone" });
    world.storefront("customers/register-device").token(&ada).json(&body).send().await.ok(200);
    secrets.push("push t0ken of a phone".to_owned());
    let code = world.creation_code("+12025550111").await;
    world.open_account("+12025550111", &wrong(&code)).await.refused(422, "code_invalid");
    secrets.extend([code.clone(), wrong(&code)]);
    world.storefront("customers/account-closure").token(&ada).send().await.ok(200);
    secrets.push(world.last_code());
    let body = json!({ "phone": PHONE });
    world.storefront("customers/request-phone-verification").token(&ada).json(&body).send().await.ok(200);
    secrets.push(world.last_code());
    let body = json!({ "code": world.last_code() });
    world.storefront("customers/verify-phone-number").token(&ada).json(&body).send().await.ok(200);
    let body = json!({ "email": "lovelace@example.com" });
    world.storefront("customers/request-email-verification").token(&ada).json(&body).send().await.ok(200);
    secrets.push(world.last_code());
    let body = json!({ "code": world.last_code() });
    world.storefront("customers/verify-email").token(&ada).json(&body).send().await.ok(200);
    world.pass(chrono::TimeDelta::minutes(2));
    let code = world.sign_in_code(PHONE).await;
    let body = json!({ "identity": PHONE, "code": code, "password": NEW_PASSWORD });
    let ada = token(&world.storefront("customers/reset-password").json(&body).send().await.ok(200));
    secrets.extend([code, NEW_PASSWORD.to_owned(), secret_of(&ada)]);
    world.pass(chrono::TimeDelta::minutes(2));
    secrets.push(world.sign_in_code(PHONE).await);
    for (identity, password) in [(PHONE, "wrong but long password"), ("typed the password here", EMAIL), (PHONE, NEW_PASSWORD)] {
        let body = json!({ "identity": identity, "password": password });
        let answer = world.storefront("customers/login").json(&body).send().await;
        if answer.status == 200 {
            secrets.push(secret_of(&token(&answer.body)));
        }
    }
    secrets.extend(["wrong but long password".to_owned(), "typed the password here".to_owned()]);

    // Identity providers: tokens, a code, an access token, our client secrets.
    let identity_token = rsa().sign(&claims_of_a(&world, "7"));
    let tokens = json!({ "id_token": identity_token, "refresh_token": "refresh t0ken" });
    idp.answer("POST", "/token", ResponseTemplate::new(200).set_body_json(tokens)).await;
    secrets.push("refresh t0ken".to_owned());
    let body = json!({ "identityToken": identity_token, "authorizationCode": "authorization c0de", "nonce": null });
    let social = world.storefront("customers/login-with-idp-a").json(&body).send().await.ok(200);
    secrets.extend([identity_token, "authorization c0de".to_owned(), secret_of(&token(&social)), "s3cret of idp-a".to_owned()]);
    let inspected = json!({ "data": { "app_id": "4711", "is_valid": true, "user_id": "7" } });
    idp.answer("GET", "/graph/v1.0/debug_token", ResponseTemplate::new(200).set_body_json(inspected)).await;
    let body = json!({ "idpCUserId": "7", "accessToken": "access t0ken" });
    world.storefront("customers/login-with-idp-c").json(&body).send().await.ok(200);
    secrets.extend(["access t0ken".to_owned(), "graph secret".to_owned()]);

    // Cards, the socket, a webhook, an operator.
    world.card_gateway(world.company).await;
    let (company, _) = world.another_company(&[]).await;
    world.card_gateway_with(company, "sk_of_a_rotation_0123456789").await;
    secrets.push("sk_of_a_rotation_0123456789".to_owned());
    let key = world.storefront("customers/card-ephemeral-key").token(&ada).send().await.ok(200);
    let intent = world.storefront("customers/card-setup-intent").token(&ada).send().await.ok(200);
    secrets.extend([&key["ephemeralKey"], &intent["setupIntent"]].map(|secret| secret.as_str().unwrap().to_owned()));
    secrets.push(world.socket_token(&ada).await);
    let webhook = json!({ "url": "https://127.0.0.1:9443/hook", "description": "x" });
    let created = world.api(Method::POST, "/developers/int/v1/webhooks").json(&webhook).send().await.ok(201);
    let whsec = created["webhook"]["secret"].as_str().unwrap().to_owned();
    secrets.extend([whsec.trim_start_matches("whsec_").to_owned(), whsec]);
    let email = portico::contact::EmailAddress::parse("operator@example.com").unwrap();
    let password = OperatorPassword::parse(&SecretString::from("operator's own password")).unwrap();
    let (mut conn, caller) = (world.pool.acquire().await.unwrap(), Caller::command_line(world.company));
    operators::create_operator(&mut conn, &PasswordHashing::start(), &caller, &email, password, Role::Owner, world.clock.now())
        .await
        .unwrap();
    secrets.push("operator's own password".to_owned());
    drop(conn);
    (world, secrets)
}

/// Whether the text contains the secret as a whole word: six digits inside a digest are a coincidence.
fn stands_in(text: &str, secret: &str) -> bool {
    text.match_indices(secret).any(|(start, _)| {
        let (before, after) = (text[..start].chars().next_back(), text[start + secret.len()..].chars().next());
        ![before, after].into_iter().flatten().any(char::is_alphanumeric)
    })
}

#[tokio::test]
async fn a_dump_of_the_database_holds_no_code_token_password_secret_or_key_in_clear() {
    let (world, secrets) = eventful().await;
    // The dump shows bytes in hex, so each secret is searched in every encoding it may be stored in.
    let forms: Vec<(&String, Vec<String>)> =
        secrets.iter().map(|secret| (secret, vec![secret.clone(), hex::encode(secret), STANDARD.encode(secret)])).collect();
    for (column, dump) in database::dump(&world.pool).await {
        for (secret, forms) in &forms {
            // In hex, a secret may be part of a longer text; only six digits are too short to be significant there.
            let found = forms.iter().any(|form| if form.len() < 20 { stands_in(&dump, form) } else { dump.contains(form.as_str()) });
            assert!(!found, "{column} holds {secret}");
        }
    }
}

#[tokio::test]
async fn debug_output_contains_no_secret() {
    let (world, secrets) = eventful().await;
    let login = json!({ "identity": PHONE, "password": NEW_PASSWORD });
    let ada = token(&world.storefront("customers/login").json(&login).send().await.ok(200));
    world.storefront_get("customers/me").token(&ada).send().await.ok(200);
    let hash: String =
        sqlx::query_scalar("select password_hash from customers where password_hash is not null").fetch_one(&world.pool).await.unwrap();
    let written = format!("{:?} {:?} {:?} {:?}", world.state.storefront, world.state.realtime, world.state.webhooks, world.state.mailbox);
    for secret in secrets.iter().chain([&hash, &ada]) {
        assert!(!stands_in(&written, secret), "{secret}");
    }
    let settings = [
        ("application_key", "application s3cret"),
        ("database.url", "postgres://portico:database-s3cret@localhost/portico"),
        ("mail.smtp_url", "smtp://portico:mail-s3cret@localhost"),
        ("sms.twilio.auth_token", "twilio s3cret"),
        ("sms.vonage.api_secret", "vonage s3cret"),
        ("sms.http.headers", "Authorization: Bearer http-s3cret"),
        ("sms.http.body", "{\"key\":\"body s3cret\"}"),
        ("providers.idp_a.client_secret", "idp-a s3cret"),
        ("providers.idp_c.app_secret", "idp-c s3cret"),
        ("socket.key", "socket s3cret"),
    ];
    let written = format!("{:?}", Config::with(&settings).unwrap());
    assert!(!written.contains("s3cret"), "{written}");
}
