//! Orders placed without an account: who proves the address or number that was given with one sees and follows it (decisions, section 6,
//! Own orders; `docs/storefront.md`).

use chrono::TimeDelta;
use portico::callers::Scope;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::customers::{EMAIL, PHONE, token};
use crate::support::fleet::{id, to};

const GUEST: &str = "Ada@Example.com";

/// The response of `GET customers/orders`.
async fn own_orders(world: &World, login: &Value, query: &str) -> Value {
    world.storefront_get(&format!("customers/orders{query}")).token(&token(login)).send().await.ok(200)
}

fn ids(answer: &Value) -> Vec<&str> {
    answer["orders"].as_array().unwrap().iter().map(id).collect()
}

#[tokio::test]
async fn whoever_proves_the_address_sees_and_follows_what_was_ordered_with_it() {
    let world = World::with_socket(&[]).await;
    let driver = world.driver("Max").await;
    let order = world.order(json!({ "contact_email": GUEST, "driver": id(&driver), "payload": { "dropoff": "2 High Street" } })).await;
    let login = world.register(EMAIL).await;
    let answer = own_orders(&world, &login, "").await;
    assert_eq!(ids(&answer), [id(&order)]);
    let shown = &answer["orders"][0];
    assert_eq!((&shown["guest"], &shown["status"], &shown["driver"]), (&json!(true), &json!("created"), &driver["id"]));
    assert_eq!(shown["payload"], order["payload"]);
    assert!(shown.get("contact_email").is_none() && shown.get("notes").is_none(), "{shown}");

    let socket_token = world.socket_token(&token(&login)).await;
    assert_eq!(world.ask(&socket_token, &format!("order.{}", id(&order))).await["reason"], "own_order");
    assert_eq!(world.ask(&socket_token, &format!("driver.{}", id(&driver))).await["reason"], "serves_own_order");
    for status in ["dispatched", "started", "completed"] {
        to(&world, &order, status).await.ok(200);
    }
    assert_eq!(own_orders(&world, &login, "").await["orders"][0]["driver"], Value::Null, "nobody follows the driver any more");
    assert_eq!(world.ask(&socket_token, &format!("driver.{}", id(&driver))).await["allow"], false);
}

#[tokio::test]
async fn whoever_proves_the_number_follows_it_whether_before_or_after_the_order() {
    let world = World::with_socket(&[]).await;
    let before = world.order(json!({ "contact_phone": "+1 (201) 555-0123" })).await;
    let login = world.register(PHONE).await;
    world.pass(TimeDelta::seconds(1));
    let after = world.order(json!({ "contact_phone": PHONE, "contact_email": "somebody@example.com" })).await;
    assert_eq!(ids(&own_orders(&world, &login, "").await), [id(&after), id(&before)]);
    let socket_token = world.socket_token(&token(&login)).await;
    assert_eq!(world.ask(&socket_token, &format!("order.{}", id(&after))).await["allow"], true);
}

#[tokio::test]
async fn a_contact_that_was_only_typed_in_shows_nothing() {
    let world = World::with_socket(&[]).await;
    let order = world.order(json!({ "contact_phone": PHONE })).await;
    let login = world.register_with(EMAIL, json!({ "phone": PHONE })).await;
    assert_eq!(ids(&own_orders(&world, &login, "").await), [""; 0]);
    let socket_token = world.socket_token(&token(&login)).await;
    assert_eq!(world.ask(&socket_token, &format!("order.{}", id(&order))).await["reason"], "not_own");

    world.storefront("customers/request-phone-verification").token(&token(&login)).json(&json!({ "phone": PHONE })).send().await.ok(200);
    let code = json!({ "code": world.last_code() });
    world.storefront("customers/verify-phone-number").token(&token(&login)).json(&code).send().await.ok(200);
    assert_eq!(ids(&own_orders(&world, &login, "").await), [id(&order)]);
}

#[tokio::test]
async fn an_order_of_an_account_or_of_another_company_is_nobody_elses() {
    let world = World::with_socket(&[]).await;
    let login = world.register(EMAIL).await;
    world.pass(TimeDelta::minutes(1));
    let bob = world.register("bob@example.com").await;
    let of_bob = world.order(json!({ "customer": id(&bob["customer"]), "contact_email": EMAIL })).await;
    let (_, key) = world.another_company(&[Scope::Admin]).await;
    let foreign = world.fleet(Method::POST, "orders").key(&key).json(&json!({ "contact_email": EMAIL })).send().await.ok(201);
    let deleted = world.order(json!({ "contact_email": EMAIL })).await;
    world.fleet(Method::DELETE, &format!("orders/{}", id(&deleted))).send().await.ok(200);
    assert_eq!(ids(&own_orders(&world, &login, "").await), [""; 0]);
    assert_eq!(ids(&own_orders(&world, &bob, "").await), [id(&of_bob)]);
    let socket_token = world.socket_token(&token(&login)).await;
    for order in [&of_bob, &foreign["order"], &deleted] {
        assert_eq!(world.ask(&socket_token, &format!("order.{}", id(order))).await["reason"], "not_own");
    }
    world.storefront_get("customers/orders").send().await.refused(401, "customer_token_invalid");
}

#[tokio::test]
async fn pages_of_all_kinds_of_own_orders_leave_nothing_out_and_repeat_nothing() {
    let world = World::new().await;
    let login = world.register_with(EMAIL, json!({ "phone": PHONE })).await;
    world.storefront("customers/request-phone-verification").token(&token(&login)).json(&json!({ "phone": PHONE })).send().await.ok(200);
    let code = json!({ "code": world.last_code() });
    world.storefront("customers/verify-phone-number").token(&token(&login)).json(&code).send().await.ok(200);
    let mut placed = Vec::new();
    for _ in 0..3 {
        for body in [
            json!({ "customer": id(&login["customer"]) }),
            json!({ "contact_email": EMAIL }),
            json!({ "contact_phone": PHONE }),
            json!({ "contact_email": EMAIL, "contact_phone": PHONE }),
        ] {
            world.pass(TimeDelta::milliseconds(1));
            placed.insert(0, id(&world.order(body).await).to_owned());
        }
    }
    let (mut seen, mut query) = (Vec::new(), "?limit=5".to_owned());
    loop {
        let page = own_orders(&world, &login, &query).await;
        seen.extend(ids(&page).into_iter().map(ToOwned::to_owned));
        let Some(next) = page["meta"]["next"].as_str() else { break };
        query = format!("?limit=5&after={next}");
    }
    assert_eq!(seen, placed);
    for query in ["?limit=0", "?limit=101", "?limit=x", "?after=x"] {
        world.storefront_get(&format!("customers/orders{query}")).token(&token(&login)).send().await.refused(422, "parameter_invalid");
    }
}

#[tokio::test]
async fn a_contact_of_an_order_is_a_contact_and_is_taken_back() {
    let world = World::new().await;
    for (member, wrong) in [("contact_email", "ada"), ("contact_phone", "12")] {
        world.fleet(Method::POST, "orders").json(&json!({ member: wrong })).send().await.refused(422, "body_invalid");
    }
    let order = world.order(json!({ "contact_email": EMAIL })).await;
    let login = world.register(EMAIL).await;
    assert_eq!(ids(&own_orders(&world, &login, "").await).len(), 1);
    world.fleet(Method::PUT, &format!("orders/{}", id(&order))).json(&json!({ "contact_email": null })).send().await.ok(200);
    assert_eq!(ids(&own_orders(&world, &login, "").await).len(), 0);
}

/// Whatever the contact, the list is read from an index.
#[tokio::test]
async fn own_orders_are_found_by_indexes() {
    let world = World::with(&[("database.max_connections", "1")]).await;
    let login = world.register(EMAIL).await;
    world.order(json!({ "contact_email": EMAIL })).await;
    let multiply =
        "insert into orders (id, company_id, version, created_at, updated_at, tracking_number, status, skip_dispatch, contact_email,
                                        contact_phone, meta)
        select gen_random_uuid(), company_id, 1, created_at, updated_at, n::text, 'created', false, n || '@many.example', '+49' || n, '{}'
        from orders, generate_series(1, 5000) n;
        analyze orders; set plan_cache_mode = force_custom_plan";
    sqlx::raw_sql(multiply).execute(&world.pool).await.unwrap();
    own_orders(&world, &login, "").await;
    let statement = "select name from pg_prepared_statements where statement ~ 'as own\\s+order by created_at desc'";
    let name: String = sqlx::query_scalar(statement).fetch_one(&world.pool).await.unwrap();
    let (company, customer) = (world.company.uuid(), login["customer"]["uuid"].as_str().unwrap());
    let explain = format!("explain execute \"{name}\" ('{company}', '{customer}', '1@many.example', '+491', null, null, 26)");
    let plan = sqlx::query_scalar::<_, String>(sqlx::AssertSqlSafe(explain)).fetch_all(&world.pool).await.unwrap().join("\n");
    assert!(!plan.contains("Seq Scan"), "{plan}");
}
