//! The customer's own record and sign-ins: decisions, section 3.

use chrono::TimeDelta;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::customers::{EMAIL, PASSWORD, token};
use crate::support::{Answer, World};

async fn put(world: &World, token: &str, id: &str, body: Value) -> Answer {
    let path = format!("/storefront/v1/customers/{id}");
    world.request(Method::PUT, &path).key(&world.store_key).token(token).json(&body).send().await
}

#[tokio::test]
async fn a_customer_changes_the_editable_fields() {
    let world = World::new().await;
    let login = world.register(EMAIL).await;
    let (ada, id) = (token(&login), login["customer"]["id"].as_str().unwrap());
    let body = json!({ "name": "Ada Lovelace", "title": "Countess", "photo_url": "https://example.com/ada.jpg", "meta": { "vip": true } });
    let changed = put(&world, &ada, id, body.clone()).await.ok(200);
    for member in ["name", "title", "photo_url", "meta"] {
        assert_eq!(changed["customer"][member], body[member]);
    }
    // The bare UUID works too; missing fields stay, and null clears.
    let uuid = login["customer"]["uuid"].as_str().unwrap();
    let changed = put(&world, &ada, uuid, json!({ "title": null, "unknown": 1 })).await.ok(200);
    assert_eq!((&changed["customer"]["title"], &changed["customer"]["name"]), (&Value::Null, &json!("Ada Lovelace")));
    let found = world.storefront_get(&format!("customers/{uuid}")).token(&ada).send().await.ok(200);
    assert_eq!(found, changed["customer"]);
    assert_eq!(world.count("select count(*) from events where name = 'customer.updated'").await, 2);
    // An update without changes publishes no event.
    put(&world, &ada, id, json!({ "name": "Ada Lovelace" })).await.ok(200);
    assert_eq!(world.count("select count(*) from events where name = 'customer.updated'").await, 2);
}

#[tokio::test]
async fn a_customer_as_it_was_read_can_be_sent_back_and_changes_nothing() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    let read = world.storefront_get("customers/me").token(&ada).send().await.ok(200);
    let id = read["id"].as_str().unwrap();
    assert_eq!(put(&world, &ada, id, read.clone()).await.ok(200)["customer"], read);
    assert_eq!(world.count("select count(*) from events where name = 'customer.updated'").await, 0);
    let renamed = json!({ "name": "Ada Lovelace", "email": read["email"], "phone": null, "id": "other", "created_at": null });
    let changed = put(&world, &ada, id, renamed).await.ok(200);
    assert_eq!((&changed["customer"]["name"], &changed["customer"]["id"]), (&json!("Ada Lovelace"), &read["id"]));
}

#[tokio::test]
async fn a_customer_without_a_name_can_be_sent_back_too() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    sqlx::query("update customers set name = '', title = 'Countess'").execute(&world.pool).await.unwrap();
    let read = world.storefront_get("customers/me").token(&ada).send().await.ok(200);
    let id = read["id"].as_str().unwrap();
    assert_eq!(put(&world, &ada, id, read.clone()).await.ok(200)["customer"], read);
}

#[tokio::test]
async fn what_a_customer_leaves_empty_is_cleared_if_it_can_be_and_stays_otherwise() {
    let world = World::new().await;
    let login = world.register(EMAIL).await;
    let (ada, id) = (token(&login), login["customer"]["id"].as_str().unwrap());
    for nothing in [Value::Null, json!("")] {
        let meta = json!({ "note": "" });
        let filled_in = json!({ "title": "Countess", "photo_url": "https://example.com/ada.jpg", "meta": meta });
        assert_eq!(put(&world, &ada, id, filled_in).await.ok(200)["customer"]["meta"], meta);
        let empty = json!({ "name": nothing, "title": nothing, "photo_url": nothing, "meta": nothing, "email": nothing, "phone": nothing });
        let changed = put(&world, &ada, id, empty).await.ok(200)["customer"].clone();
        assert_eq!((&changed["title"], &changed["photo_url"]), (&Value::Null, &Value::Null));
        for member in ["name", "email", "phone"] {
            assert_eq!(changed[member], login["customer"][member], "{member}");
        }
        assert_eq!(changed["meta"], meta);
    }
}

#[tokio::test]
async fn the_address_the_number_and_invalid_values_cannot_be_changed() {
    let world = World::new().await;
    let login = world.register(EMAIL).await;
    let (ada, id) = (token(&login), login["customer"]["id"].as_str().unwrap());
    for (member, value) in [
        ("email", json!("eve@example.com")),
        ("phone", json!("+12015550123")),
        ("phone", json!({})),
        ("name", json!("x".repeat(256))),
        ("name", json!(5)),
        ("title", json!("a\nb")),
        ("photo_url", json!("javascript:alert(1)")),
        ("meta", json!([1])),
    ] {
        let refusal = put(&world, &ada, id, json!({ member: value })).await.refused(422, "body_invalid");
        assert!(refusal["fields"][member].is_array(), "{refusal}");
    }
    let me = world.storefront_get("customers/me").token(&ada).send().await.ok(200);
    assert_eq!(me, login["customer"]);
}

#[tokio::test]
async fn another_customer_is_no_such_record() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    let bob = world.register("bob@example.com").await["customer"]["id"].as_str().unwrap().to_owned();
    for id in [bob.as_str(), "nonsense", "order_01h455vb4pex5vsknk084sn02q"] {
        world.storefront_get(&format!("customers/{id}")).token(&ada).send().await.refused(404, "record_not_found");
        put(&world, &ada, id, json!({ "name": "Eve" })).await.refused(404, "record_not_found");
    }
}

#[tokio::test]
async fn a_customer_sees_and_ends_their_sign_ins() {
    let world = World::new().await;
    let first = token(&world.register_with(EMAIL, json!({ "password": PASSWORD })).await);
    let login = json!({ "identity": EMAIL, "password": PASSWORD });
    let second = token(&world.storefront("customers/login").json(&login).send().await.ok(200));
    let bob = token(&world.register("bob@example.com").await);

    let sessions = world.storefront_get("customers/sessions").token(&first).send().await.ok(200);
    let sessions = sessions["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 2);
    assert_eq!(sessions.iter().filter(|session| session["current"] == true).count(), 1);
    assert!(sessions.iter().all(|session| session.get("token").is_none()));

    let end = |who: &str, id: &str| {
        let path = format!("/storefront/v1/customers/sessions/{id}");
        world.request(Method::DELETE, &path).key(&world.store_key).token(who).send()
    };
    let current = async |who: &str| {
        let listed = world.storefront_get("customers/sessions").token(who).send().await.ok(200)["sessions"].clone();
        let own = listed.as_array().unwrap().iter().find(|session| session["current"] == true).unwrap()["id"].clone();
        own.as_str().unwrap().to_owned()
    };
    let (seconds, bobs) = (current(&second).await, current(&bob).await);
    let (seconds, bobs) = (seconds.as_str(), bobs.as_str());
    end(&first, bobs).await.refused(404, "record_not_found");
    end(&first, "nonsense").await.refused(404, "record_not_found");
    end(&first, seconds).await.ok(200);
    end(&first, seconds).await.refused(404, "record_not_found");
    world.storefront_get("customers/me").token(&second).send().await.refused(401, "customer_token_invalid");
    world.storefront_get("customers/me").token(&first).send().await.ok(200);
}

#[tokio::test]
async fn a_session_has_method_and_origin_as_long_as_the_audit_keeps_them() {
    let world = World::new().await;
    let first = token(&world.register_with(EMAIL, json!({ "password": PASSWORD })).await);
    let login = json!({ "identity": EMAIL, "password": PASSWORD });
    let login = world.storefront("customers/login").json(&login).from("203.0.113.9").header("user-agent", "Shop/1.0");
    let second = token(&login.send().await.ok(200));
    let sessions = async || world.storefront_get("customers/sessions").token(&second).send().await.ok(200)["sessions"].clone();
    let origin_of = |session: &Value| json!([session["current"], session["method"], session["address"], session["user_agent"]]);

    // Both were last used at the same time, so the later one comes first.
    let shown = sessions().await;
    assert_eq!(origin_of(&shown[0]), json!([true, "password", "203.0.113.9", "Shop/1.0"]));
    assert_eq!((&shown[1]["method"], &shown[1]["user_agent"]), (&json!("registration"), &Value::Null));
    // A token issued before audit entries and tokens shared an id.
    sqlx::query("update customer_tokens set uuid = gen_random_uuid() where id = $1::bigint")
        .bind(first.split_once('|').unwrap().0)
        .execute(&world.pool)
        .await
        .unwrap();
    assert_eq!(origin_of(&sessions().await[1]), json!([false, null, null, null]));

    world.pass(TimeDelta::days(90) + TimeDelta::seconds(1));
    world.state.storefront.sweep().await.unwrap();
    let shown = sessions().await;
    assert_eq!((origin_of(&shown[0]), origin_of(&shown[1])), (json!([true, null, null, null]), json!([false, null, null, null])));
}
