//! Realtime: interface 1, socket-token (rule 10); decisions, section 6 (Socket token); `docs/realtime.md`.

use chrono::TimeDelta;
use portico::callers::Scope;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::customers::{EMAIL, PHONE, token};
use crate::support::fleet::{id, to, uuid};
use crate::support::socket_server::{KEY, forge, open, sign};
use crate::support::{World, socket_server};

/// A world in which Ada is signed in: her login response and her socket token.
async fn ada(changes: &[(&str, &str)]) -> (World, Value, String) {
    let world = World::with_socket(changes).await;
    let login = world.register(EMAIL).await;
    let socket_token = world.socket_token(&token(&login)).await;
    (world, login, socket_token)
}

fn customer(login: &Value) -> &str {
    id(&login["customer"])
}

#[tokio::test]
async fn a_socket_token_identifies_a_customer_for_fifteen_minutes() {
    let world = World::with_socket(&[]).await;
    let login = world.register(EMAIL).await;
    let ask = || world.storefront("customers/socket-token").token(&token(&login)).send();
    let answer = ask().await.ok(200);
    assert_eq!(answer["expires_in"], 900);
    assert_eq!(answer["expires_at"], "2026-05-21T10:30:00.000+00:00");
    let (header, claims) = open(answer["token"].as_str().unwrap());
    assert_eq!(header["alg"], "HS256");
    let now = world.clock.now().timestamp();
    let (number, _) = login["token"].as_str().unwrap().split_once('|').map(|(number, rest)| (number.to_owned(), rest)).unwrap();
    let expected = json!({
        "iss": "portico", "aud": "socket", "sub": customer(&login), "cid": world.company, "sid": number, "kind": "customer",
        "ids": [customer(&login), uuid(&login["customer"])], "iat": now, "nbf": now - 30, "exp": now + 900, "jti": claims["jti"],
    });
    assert_eq!(claims, expected);
    assert_ne!(ask().await.ok(200)["token"], answer["token"]);
    world.storefront("customers/socket-token").send().await.refused(401, "customer_token_invalid");
}

#[tokio::test]
async fn a_socket_token_does_not_outlive_its_session() {
    let world = World::with_socket(&[("storefront.session_lifetime", "1h")]).await;
    let login = world.register(EMAIL).await;
    world.pass(TimeDelta::minutes(50));
    let answer = world.storefront("customers/socket-token").token(&token(&login)).send().await.ok(200);
    assert_eq!((&answer["expires_in"], &answer["expires_at"]), (&json!(600), &json!("2026-05-21T11:15:00.000+00:00")));
    let (_, claims) = open(answer["token"].as_str().unwrap());
    assert_eq!(claims["exp"], world.clock.now().timestamp() + 600);
}

#[tokio::test]
async fn without_socket_authentication_the_response_is_404() {
    let world = World::new().await;
    let login = world.register(EMAIL).await;
    world.storefront("customers/socket-token").token(&token(&login)).send().await.refused(404, "socket_not_configured");
    world.question(&json!({ "token": "x", "channel": "y" })).send().await.refused(404, "socket_not_configured");
}

#[tokio::test]
async fn a_customer_follows_their_own_order_in_any_status() {
    let (world, login, ada) = ada(&[]).await;
    let driver = world.driver("Max").await;
    let order = world.order(json!({ "customer": customer(&login), "driver": id(&driver) })).await;
    for status in ["created", "dispatched", "started", "completed"] {
        if status != "created" {
            to(&world, &order, status).await.ok(200);
        }
        for spelling in [id(&order).to_owned(), uuid(&order).to_string()] {
            let answer = world.ask(&ada, &format!("order.{spelling}")).await;
            assert_eq!(answer, json!({ "allow": true, "ttl": 60, "reason": "own_order" }), "{status}");
        }
    }
    world.fleet(Method::DELETE, &format!("orders/{}", id(&order))).send().await.ok(200);
    assert_eq!(world.ask(&ada, &format!("order.{}", id(&order))).await["allow"], false);
}

#[tokio::test]
async fn a_customer_cannot_follow_the_order_of_another() {
    let (world, login, ada) = ada(&[]).await;
    world.pass(TimeDelta::minutes(1));
    let bob = world.register("bob@example.com").await;
    let refused = json!({ "allow": false, "ttl": 0, "reason": "not_own" });
    let (of_bob, of_nobody) = (world.order(json!({ "customer": customer(&bob) })).await, world.order(json!({})).await);
    for order in [&of_bob, &of_nobody] {
        assert_eq!(world.ask(&ada, &format!("order.{}", id(order))).await, refused);
    }
    assert_eq!(world.ask(&ada, "order.order_01h455vb4pex5vsknk084sn02q").await, refused);
    // Another company names Ada in its order; this does not give her access to it.
    let (_, key) = world.another_company(&[Scope::Admin]).await;
    let body = json!({ "customer": customer(&login) });
    let foreign = world.fleet(Method::POST, "orders").key(&key).json(&body).send().await.ok(201);
    assert_eq!(world.ask(&ada, &format!("order.{}", id(&foreign["order"]))).await, refused);
}

#[tokio::test]
async fn a_driver_and_a_vehicle_are_followed_while_they_serve_an_own_active_order() {
    let (world, login, ada) = ada(&[]).await;
    let van = world.vehicle("Van").await;
    let vehicle = id(&van);
    for end in ["completed", "cancelled", "failed"] {
        let driver = world.driver("Max").await;
        let channels = [format!("driver.{}", id(&driver)), format!("driver.{}", uuid(&driver)), format!("vehicle.{vehicle}")];
        let follows = async |allowed: bool, when: &str| {
            for channel in &channels {
                let answer = world.ask(&ada, channel).await;
                assert_eq!(answer["allow"], allowed, "{channel} {when}: {answer}");
                assert_eq!(answer["reason"], if allowed { "serves_own_order" } else { "not_own" });
            }
        };
        let _of_somebody_else = world.order(json!({ "driver": id(&driver), "vehicle": vehicle })).await;
        follows(false, "serving another customer").await;
        let order = world.order(json!({ "customer": customer(&login), "driver": id(&driver), "vehicle": vehicle })).await;
        follows(true, "created").await;
        to(&world, &order, "dispatched").await.ok(200);
        follows(true, "dispatched").await;
        to(&world, &order, "started").await.ok(200);
        follows(true, "started").await;
        to(&world, &order, end).await.ok(200);
        follows(false, end).await;
    }
}

#[tokio::test]
async fn a_customer_follows_themselves_and_no_other_kind_of_channel() {
    let (world, login, ada) = ada(&[]).await;
    for spelling in [customer(&login).to_owned(), uuid(&login["customer"]).to_string()] {
        let answer = world.ask(&ada, &format!("customer.{spelling}")).await;
        assert_eq!(answer, json!({ "allow": true, "ttl": 60, "reason": "own_customer" }));
    }
    world.pass(TimeDelta::minutes(1));
    let bob = world.register("bob@example.com").await;
    assert_eq!(world.ask(&ada, &format!("customer.{}", customer(&bob))).await["reason"], "not_own");
    let company = format!("company.{}", world.company);
    let order = world.order(json!({ "customer": customer(&login) })).await;
    let upper = format!("order.{}", uuid(&order).to_string().to_uppercase());
    for channel in ["", "order", "order.", "order.*", "*", "orders", &company, &upper, "order.x' or true --"] {
        assert_eq!(world.ask(&ada, channel).await, json!({ "allow": false, "ttl": 0, "reason": "channel_unknown" }), "{channel}");
    }
}

#[tokio::test]
async fn an_answer_holds_a_minute_and_never_longer_than_the_token() {
    let (world, login, ada) = ada(&[]).await;
    let channel = format!("customer.{}", customer(&login));
    world.pass(TimeDelta::seconds(870));
    assert_eq!(world.ask(&ada, &channel).await["ttl"], 30);
    world.pass(TimeDelta::seconds(30));
    assert_eq!(world.ask(&ada, &channel).await, json!({ "allow": false, "ttl": 0, "reason": "token_expired" }));
    // By then, the app would have fetched another token.
    let fresh = world.socket_token(&token(&login)).await;
    assert_eq!(world.ask(&fresh, &channel).await["ttl"], 60);

    let (world, login, ada) = self::ada(&[("socket.answer_lifetime", "5s"), ("socket.lifetime", "1h")]).await;
    world.pass(TimeDelta::minutes(50));
    assert_eq!(world.ask(&ada, &format!("customer.{}", customer(&login))).await["ttl"], 5);
}

#[tokio::test]
async fn a_token_made_elsewhere_or_for_something_else_is_refused() {
    let (world, login, ada) = ada(&[]).await;
    let channel = format!("customer.{}", customer(&login));
    let (header, claims) = open(&ada);
    assert_eq!(world.ask(&forge(KEY, &header, &claims), &channel).await["allow"], true);
    let with = |member: &str, value: Value| {
        let mut changed = claims.clone();
        changed[member] = value;
        forge(KEY, &header, &changed)
    };
    let without = |member: &str| {
        let mut changed = claims.clone();
        changed.as_object_mut().unwrap().remove(member);
        forge(KEY, &header, &changed)
    };
    let mut unsigned = forge(KEY, &json!({ "alg": "none", "typ": "JWT" }), &claims);
    unsigned.truncate(unsigned.rfind('.').unwrap() + 1);
    for bad in [
        forge("another key of at least 32 bytes, as long as ours", &header, &claims),
        forge(KEY, &json!({ "alg": "none" }), &claims),
        forge(KEY, &json!({ "alg": "HS512" }), &claims),
        unsigned,
        with("iss", json!("somebody")),
        with("aud", json!("something")),
        with("kind", json!("operator")),
        with("sub", json!("driver_01h455vb4pex5vsknk084sn02q")),
        with("exp", json!("never")),
        with("nbf", json!(world.clock.now().timestamp() + 1)),
        without("iss"),
        without("aud"),
        without("exp"),
        format!("{ada}x"),
        token(&login),
        String::new(),
        "x".repeat(10_000),
    ] {
        assert_eq!(world.ask(&bad, &channel).await, json!({ "allow": false, "ttl": 0, "reason": "token_invalid" }), "{bad}");
    }
}

#[tokio::test]
async fn a_revoked_sign_in_and_a_closed_account_are_signed_out() {
    let (world, login, ada) = ada(&[]).await;
    let channel = format!("customer.{}", customer(&login));
    let reason = async |token: &str| world.ask(token, &channel).await["reason"].clone();
    world.storefront("customers/logout").token(&token(&login)).send().await.ok(200);
    assert_eq!(reason(&ada).await, "signed_out");

    let world = World::with_socket(&[]).await;
    let login = world.register(PHONE).await;
    let (ada, channel) = (world.socket_token(&token(&login)).await, format!("customer.{}", customer(&login)));
    assert_eq!(world.ask(&ada, &channel).await["allow"], true);
    sqlx::query("update customers set closed_at = now()").execute(&world.pool).await.unwrap();
    assert_eq!(world.ask(&ada, &channel).await, json!({ "allow": false, "ttl": 0, "reason": "signed_out" }));

    // A deleted store has no customers.
    let world = World::with_socket(&[]).await;
    let login = world.register(PHONE).await;
    let (ada, channel) = (world.socket_token(&token(&login)).await, format!("customer.{}", customer(&login)));
    world.api(Method::DELETE, &format!("/storefront/int/v1/stores/{}", world.store)).send().await.ok(200);
    assert_eq!(world.ask(&ada, &channel).await["reason"], "signed_out");
}

#[tokio::test]
async fn only_a_question_signed_just_now_is_answered() {
    let (world, login, ada) = ada(&[]).await;
    let body = json!({ "token": ada, "channel": format!("customer.{}", customer(&login)), "more": 1 }).to_string();
    let now = world.clock.now().timestamp();
    for seconds in [-300, 0, 300] {
        let timestamp = (now + seconds).to_string();
        world.signed_question(&timestamp, &sign(KEY, &timestamp, &body), body.clone()).send().await.ok(200);
    }
    let timestamp = now.to_string();
    let right = sign(KEY, &timestamp, &body);
    let mut wrong: Vec<(String, String)> = vec![
        (timestamp.clone(), String::new()),
        (timestamp.clone(), right[..62].to_owned()),
        (timestamp.clone(), format!("sha256={right}")),
        (timestamp.clone(), sign("another key of at least 32 bytes, as long as ours", &timestamp, &body)),
        (timestamp.clone(), sign(KEY, &timestamp, "{}")),
        ((now + 1).to_string(), right.clone()),
    ];
    for odd in [(now - 301).to_string(), (now + 301).to_string(), format!("+{now}"), format!("{now}.0"), String::new(), "9".repeat(30)] {
        wrong.push((odd.clone(), sign(KEY, &odd, &body)));
    }
    for (timestamp, signature) in wrong {
        let answer = world.signed_question(&timestamp, &signature, body.clone()).send().await;
        answer.refused(401, "socket_signature_invalid");
    }
    world.request(Method::POST, "/socket/authorize").body(body).send().await.refused(401, "socket_signature_invalid");
    // Signed questions are validated too.
    world.question(&json!({ "token": ada })).send().await.refused(422, "body_invalid");
    world.question(&json!({ "token": ada, "channel": "a\u{0}b" })).send().await.refused(422, "body_invalid");
    world.question(&json!([])).send().await.refused(422, "body_invalid");
    world.question(&json!({})).header("content-encoding", "gzip").send().await.refused(415, "media_type_unsupported");
}

#[tokio::test]
async fn while_the_key_is_replaced_the_socket_server_may_have_either() {
    let (world, login, before) = ada(&[]).await;
    let channel = format!("customer.{}", customer(&login));
    let new = "the-new-key-of-the-socket-server-and-of-the-service";
    let replacing = world.reconfigured("", &[("socket.key", new), ("socket.previous_keys", KEY)]);
    let after = replacing.socket_token(&token(&login)).await;
    let ask = async |world: &World, key: &str, token: &str| {
        let (timestamp, body) = (world.clock.now().timestamp().to_string(), json!({ "token": token, "channel": channel }).to_string());
        world.signed_question(&timestamp, &sign(key, &timestamp, &body), body).send().await
    };
    for key in [KEY, new] {
        for token in [&before, &after] {
            assert_eq!(ask(&replacing, key, token).await.ok(200)["allow"], true);
        }
    }
    // An instance that knows the new key but does not sign with it yet believes what the others have signed.
    let knows_both = world.reconfigured("", &[("socket.key", KEY), ("socket.previous_keys", new)]);
    assert_eq!(ask(&knows_both, KEY, &after).await.ok(200)["allow"], true);
    let replaced = world.reconfigured("", &[("socket.key", new)]);
    assert_eq!(ask(&replaced, new, &after).await.ok(200)["allow"], true);
    assert_eq!(ask(&replaced, new, &before).await.ok(200)["reason"], "token_invalid");
    ask(&replaced, KEY, &after).await.refused(401, "socket_signature_invalid");
}

#[tokio::test]
async fn a_socket_token_is_accepted_by_the_socket_server_only() {
    let (world, _, ada) = ada(&[]).await;
    world.storefront_get("customers/me").token(&ada).send().await.refused(401, "customer_token_invalid");
    world.storefront_get("customers/me").key(&ada).send().await.refused(401, "store_key_invalid");
    let key = socket_server::KEY;
    world.fleet(Method::GET, "orders").key(key).send().await.refused(401, "api_key_invalid");
}

#[test]
fn the_page_shows_the_files_that_are_tested() {
    let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let page = std::fs::read_to_string(docs.join("realtime.md")).unwrap();
    for file in ["guard.js", "server.js", "app.js"] {
        let text = std::fs::read_to_string(docs.join("examples/socketcluster").join(file)).unwrap();
        assert!(page.contains(&format!("`{file}`\n\n```js\n{text}```\n")), "docs/realtime.md does not show {file} as it is");
    }
}
