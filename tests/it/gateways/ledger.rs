//! The gateway records of the ledger: settings are validated, and credentials cannot be read back.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::gateways::{SECRET_KEY, SIGNING_SECRET, paid};

#[tokio::test]
async fn credentials_are_written_and_never_read_back() {
    let world = World::new().await;
    let created = world.card().await;
    assert_eq!((&created["has_secret_key"], &created["has_signing_secret"]), (&json!(true), &json!(true)));
    assert_eq!(created["callback_path"], format!("/webhooks/{}", created["id"].as_str().unwrap()));
    world.call_back(&created, &paid("evt_1")).await.ok(200);
    let path = format!("gateways/{}", created["id"].as_str().unwrap());
    let found = world.ledger(Method::GET, &path).send().await.ok(200);
    let listed = world.ledger(Method::GET, "gateways").send().await.ok(200);
    let changed = world.ledger(Method::PUT, &path).json(&json!({ "name": "Other" })).send().await.ok(200);
    let renamed = changed["gateway"].clone();
    assert_eq!((&renamed["name"], &renamed["has_signing_secret"]), (&json!("Other"), &json!(true)));
    let callbacks = world.last_callback().await;
    for answer in [&created, &found, &listed, &changed, &callbacks] {
        let text = answer.to_string();
        assert!(!text.contains(SECRET_KEY) && !text.contains(SIGNING_SECRET) && !text.contains("secret_key\":\""), "{text}");
    }
    // Without a secret, no callback is genuine.
    let without = world.ledger(Method::PUT, &path).json(&json!({ "signing_secret": null })).send().await.ok(200);
    assert_eq!(without["gateway"]["has_signing_secret"], false);
    world.call_back(&created, &paid("evt_2")).await.refused(400, "callback_not_genuine");
}

#[tokio::test]
async fn a_gateway_stays_and_keeps_its_company() {
    let world = World::new().await;
    let gateway = world.card().await;
    world.call_back(&gateway, &paid("evt_1")).await.ok(200);
    let of_its_gateway =
        "select count(*) from callbacks join gateways on gateways.id = gateway_id and gateways.company_id = callbacks.company_id";
    assert_eq!(world.count(of_its_gateway).await, 1);
    for statement in
        ["delete from gateways", "update gateways set company_id = gen_random_uuid()", "update gateways set id = gen_random_uuid()"]
    {
        let error = sqlx::query(statement).execute(&world.pool).await.unwrap_err();
        assert!(error.to_string().contains("a gateway keeps its id and company"), "{statement}: {error}");
    }
    let path = format!("gateways/{}", gateway["id"].as_str().unwrap());
    world.ledger(Method::DELETE, &path).send().await.ok(200);
    assert_eq!(world.count(of_its_gateway).await, 1, "it is only marked as deleted");
}

#[tokio::test]
async fn a_dump_of_the_database_holds_no_credential_in_the_clear() {
    let world = World::new().await;
    let gateway = world.card().await;
    let made = world.developers(Method::POST, "api-keys", json!({ "name": "x", "scopes": ["read"] })).await.ok(201);
    let key = made["api_key"]["key"].as_str().unwrap().to_owned();
    world.call_back(&gateway, &paid("evt_1")).await.ok(200);
    let tables: Vec<String> = sqlx::query_scalar(
        "select table_name::text from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'",
    )
    .fetch_all(&world.pool)
    .await
    .unwrap();
    let mut dump = String::new();
    for table in tables {
        let sql = format!("select coalesce(string_agg(t::text, E'\\n'), '') from \"{table}\" t");
        dump.push_str(&sqlx::query_scalar::<_, String>(sqlx::AssertSqlSafe(sql)).fetch_one(&world.pool).await.unwrap());
    }
    assert!(dump.contains(gateway["uuid"].as_str().unwrap()));
    for secret in [SECRET_KEY, SIGNING_SECRET, &key, &world.api_key] {
        for form in [secret.to_owned(), hex::encode(secret)] {
            assert!(!dump.contains(&form), "{form}");
        }
    }
}

#[tokio::test]
async fn a_credential_moved_to_another_row_does_not_open() {
    let world = World::new().await;
    let card = world.card().await;
    let any = json!({ "name": "Any", "driver": "hmac", "settings": { "signature": { "header": "X-Signature" } } });
    let other = world.gateway(any).await;
    sqlx::query("update gateways set signing_secret = (select signing_secret from gateways where driver = 'card')")
        .execute(&world.pool)
        .await
        .unwrap();
    let body = paid("evt_1").to_string();
    let signature = crate::support::gateways::sha256_hex(SIGNING_SECRET, &body);
    let post = world.request(Method::POST, other["callback_path"].as_str().unwrap()).header("x-signature", &signature);
    post.body(body).send().await.refused(500, "internal_error");
    world.call_back(&card, &paid("evt_1")).await.ok(200);
}

#[tokio::test]
async fn settings_are_refused_by_the_name_of_the_key() {
    let world = World::new().await;
    let refused = async |body: Value, field: &str| {
        let problem = world.ledger(Method::POST, "gateways").json(&body).send().await.refused(422, "body_invalid");
        assert!(problem["fields"].get(field).is_some(), "{field}: {problem}");
    };
    let hmac = |settings: Value| json!({ "name": "Any", "driver": "hmac", "settings": settings });
    refused(json!({ "name": "Any" }), "driver").await;
    refused(json!({ "driver": "manual" }), "name").await;
    refused(json!({ "name": "Any", "driver": "paper" }), "driver").await;
    refused(json!({ "name": "Any", "driver": "card" }), "secret_key").await;
    refused(json!({ "name": "Any", "driver": "card", "secret_key": "short" }), "secret_key").await;
    refused(json!({ "name": "Any", "driver": "manual", "signing_secret": "short" }), "signing_secret").await;
    refused(json!({ "name": "Any", "driver": "card", "secret_key": "********" }), "secret_key").await;
    refused(hmac(json!({})), "settings").await;
    refused(hmac(json!({ "signature": { "header": "no header" } })), "settings.signature.header").await;
    refused(hmac(json!({ "signature": { "header": "X-A" }, "events": { "paid": "paid" } })), "settings.events.paid").await;
    refused(hmac(json!({ "signature": { "header": "X-A" }, "currencies": 1 })), "settings.currencies").await;
    refused(json!({ "name": "Cash", "driver": "manual", "settings": { "a": 1 } }), "settings.a").await;
    let first = world.card().await;
    refused(json!({ "name": "Two", "driver": "card", "secret_key": SECRET_KEY }), "driver").await;
    let path = format!("gateways/{}", first["id"].as_str().unwrap());
    world.ledger(Method::PUT, &path).json(&json!({ "driver": "manual" })).send().await.refused(422, "body_invalid");
    world.ledger(Method::PUT, &path).json(&json!({ "settings": { "header": "Stripe-Signature" } })).send().await.ok(200);
}

#[tokio::test]
async fn the_test_button_says_what_is_missing() {
    let world = World::new().await;
    let test = async |gateway: &Value, body: Value| {
        let path = format!("gateways/{}/test", gateway["id"].as_str().unwrap());
        world.ledger(Method::POST, &path).json(&body).send().await.ok(200)
    };
    let settings = json!({ "signature": { "header": "X-Signature" } });
    let any = world.gateway(json!({ "name": "Any", "driver": "hmac", "settings": settings })).await;
    let answer = test(&any, json!({})).await;
    assert_eq!((&answer["ok"], &answer["checks"][0]["subject"]), (&json!(false), &json!("signing_secret")));
    // Nothing is mapped yet, which the gateway says of itself as well.
    let warnings = any["warnings"].as_array().unwrap();
    assert!(warnings.len() == 1 && warnings[0].as_str().unwrap().contains("every callback will be ignored"), "{any}");
    let path = format!("gateways/{}", any["id"].as_str().unwrap());
    let more = json!({ "signing_secret": SIGNING_SECRET, "settings": { "signature": { "header": "X-Signature" }, "events": { "paid": "payment.succeeded" } } });
    world.ledger(Method::PUT, &path).json(&more).send().await.ok(200);
    let sample = json!({ "id": "1", "type": "paid", "data": { "id": "t", "amount": 5, "currency": "eur" } });
    let answer = test(&any, json!({ "sample": sample })).await;
    assert_eq!(answer["ok"], true, "{answer}");
    assert_eq!(
        answer["contents"],
        json!({ "gateway_transaction_id": "t", "facts": [{ "fact": "payment_succeeded", "amount": 5, "currency": "EUR" }] })
    );
    let mut major = more["settings"].clone();
    (major["amount_unit"], major["decimals"]) = (json!("major"), json!({ "XOF": 2 }));
    let changed = world.ledger(Method::PUT, &path).json(&json!({ "settings": major })).send().await.ok(200);
    assert!(changed["gateway"]["warnings"][0].as_str().unwrap().contains("The decimals are not used"), "{changed}");
    world.ledger(Method::PUT, &path).json(&more).send().await.ok(200);
    assert_eq!(test(&any, json!({ "sample": { "type": "paid" } })).await["ok"], false);
    let of_transaction = json!({ "id": "t", "type": "paid", "data": { "id": "t", "amount": 5, "currency": "eur" } });
    let answer = test(&any, json!({ "sample": of_transaction })).await;
    assert_eq!((&answer["ok"], &answer["checks"][2]["subject"], &answer["checks"][2]["ok"]), (&json!(false), &json!("id"), &json!(false)));
    let mut same = more.clone();
    same["settings"]["pointers"] = json!({ "id": "/data/id" });
    world.ledger(Method::PUT, &path).json(&same).send().await.ok(200);
    for body in [json!({}), json!({ "sample": of_transaction })] {
        let checks = test(&any, body).await["checks"].take();
        assert_eq!(checks.as_array().unwrap().iter().filter(|check| check["subject"] == "id").count(), 1, "{checks}");
    }
    assert_eq!(test(&world.card().await, json!({})).await["ok"], true);
    assert_eq!(test(&world.gateway(json!({ "name": "Cash", "driver": "manual" })).await, json!({})).await["ok"], true);
    assert_eq!(world.count("select count(*) from callbacks").await, 0);
}
