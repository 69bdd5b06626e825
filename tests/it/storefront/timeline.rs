//! What happened to a customer, in order.

use chrono::TimeDelta;
use portico::callers::Scope;
use reqwest::Method;
use serde_json::{Value, json};
use url::form_urlencoded;

use crate::support::World;
use crate::support::customers::{EMAIL, PASSWORD, PHONE, login, token};

async fn timeline(world: &World, customer: &Value, query: &str) -> Value {
    let path = format!("/storefront/int/v1/customers/{}/timeline?{query}", customer["id"].as_str().unwrap());
    world.api(Method::GET, &path).send().await.ok(200)
}

fn kinds(timeline: &Value) -> Vec<&str> {
    timeline["timeline"].as_array().unwrap().iter().map(|entry| entry["kind"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_timeline_tells_what_happened_newest_first_and_no_secret() {
    let world = World::new().await;
    let ada = world.register_with(PHONE, json!({ "password": PASSWORD })).await;
    let customer = &ada["customer"];
    world.pass(TimeDelta::minutes(2));
    let device = json!({ "platform": "ios", "token": "the-push-token" });
    world.storefront("customers/register-device").token(&token(&ada)).json(&device).send().await.ok(200);
    // It goes with its session.
    let devices = timeline(&world, customer, "kind=device").await["timeline"].take();
    assert_eq!(devices[0]["detail"], json!({ "platform": "ios", "again": false }));
    world.pass(TimeDelta::minutes(2));
    login(&world, PHONE, "wrong password").await.refused(401, "credentials_invalid");
    world.pass(TimeDelta::minutes(2));
    let code = world.sign_in_code(PHONE).await;
    world.pass(TimeDelta::minutes(2));
    let signed_in = world.verify(PHONE, code.as_str()).await.ok(200);
    world.pass(TimeDelta::minutes(2));
    let revoke = format!("/storefront/int/v1/customers/{}/revoke-tokens", customer["id"].as_str().unwrap());
    world.api(Method::POST, &revoke).json(&json!({})).send().await.ok(200);
    world.pass(TimeDelta::minutes(2));

    let told = timeline(&world, customer, "").await;
    assert_eq!(kinds(&told)[..2], ["session", "session"]);
    // The text, the code in it, and the registration are of one instant each.
    let mut begin = kinds(&told).split_off(kinds(&told).len() - 4);
    begin.sort_unstable();
    assert_eq!(begin, ["account", "account", "sign_in", "text"]);
    assert_eq!(told["meta"]["next"], Value::Null);
    let of = async |kind: &str| timeline(&world, customer, &format!("kind={kind}")).await["timeline"].take();

    let sign_ins = of("sign_in").await;
    let outcomes: Vec<_> = sign_ins.as_array().unwrap().iter().map(|entry| &entry["detail"]["outcome"]).collect();
    assert_eq!(outcomes, ["signed_in", "credentials_invalid", "signed_in"]);
    assert_eq!(sign_ins[0]["detail"]["method"], "code");
    assert!(sign_ins[0]["detail"]["session"]["ended_at"].is_string());
    assert_eq!(sign_ins[1]["detail"]["session"], Value::Null);
    let texts = of("text").await;
    assert_eq!((&texts[0]["detail"]["status"], texts[0]["detail"]["used_at"].is_string()), (&json!("sent"), true));
    let codes = of("code").await;
    assert_eq!((&codes[0]["detail"]["purpose"], &codes[0]["detail"]["channel"]), (&json!("sign_in"), &json!("sms")));
    assert_eq!(of("device").await, json!([]));
    assert_eq!(of("account").await[0]["detail"], json!({ "what": "phone_verified", "about": PHONE }));

    let text = told.to_string();
    let secrets = [code.as_str(), "the-push-token", token(&ada).split_once('|').unwrap().1, token(&signed_in).split_once('|').unwrap().1]
        .map(str::to_owned);
    for secret in secrets {
        assert!(!text.contains(&secret), "{secret}");
    }
}

#[tokio::test]
async fn pages_of_a_timeline_leave_nothing_out_and_repeat_nothing() {
    let world = World::new().await;
    let ada = world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    for attempt in 0..9 {
        // Some within one millisecond.
        world.pass(if attempt % 3 == 0 { TimeDelta::seconds(1) } else { TimeDelta::microseconds(50) });
        login(&world, EMAIL, if attempt % 2 == 0 { PASSWORD } else { "wrong password" }).await;
    }
    world.pass(TimeDelta::seconds(1));
    let all = timeline(&world, &ada["customer"], "limit=100").await["timeline"].take();
    let (mut read, mut before) = (Vec::new(), String::new());
    for _ in 0..20 {
        let page = timeline(&world, &ada["customer"], &format!("limit=2{before}")).await;
        assert!(page["timeline"].as_array().unwrap().len() < 7);
        read.extend(page["timeline"].as_array().unwrap().clone());
        let Some(next) = page["meta"]["next"].as_str() else { break };
        before = format!("&{}", form_urlencoded::Serializer::new(String::new()).append_pair("before", next).finish());
    }
    let ids = |entries: &[Value]| {
        let mut ids: Vec<_> = entries.iter().map(|entry| format!("{} {}", entry["at"], entry["id"])).collect();
        ids.sort_unstable();
        ids
    };
    assert_eq!(ids(&read), ids(all.as_array().unwrap()));
}

#[tokio::test]
async fn a_timeline_is_for_those_who_see_customers() {
    let world = World::new().await;
    let ada = world.register(EMAIL).await;
    let path = format!("/storefront/int/v1/customers/{}/timeline", ada["customer"]["id"].as_str().unwrap());
    let (_, other) = world.another_company(&[Scope::Admin]).await;
    world.request(Method::GET, &path).key(&other).send().await.refused(404, "record_not_found");
    let publisher = world.key_of(world.company, &[Scope::Events]).await;
    world.request(Method::GET, &path).key(&publisher).send().await.refused(403, "scope_missing");
    for query in ["limit=0", "limit=101", "limit=x", "kind=password", "before=yesterday", "after=1"] {
        world.api(Method::GET, &format!("{path}?{query}")).send().await.refused(422, "parameter_invalid");
    }
}

/// The statements of the timeline and of the exact finds read no more than they show, however many rows there are.
#[tokio::test]
async fn a_customer_among_many_is_found_and_told_of_by_indexes() {
    let world = World::with(&[("database.max_connections", "1")]).await;
    let ada = world.register(PHONE).await;
    let multiply = "set session_replication_role = replica;
        insert into customers (id, store_id, company_id, name, email, phone, external_id, created_at, updated_at)
            select gen_random_uuid(), store_id, company_id, name, n || '@many.example', '+49' || n, n, created_at, updated_at
            from customers, generate_series(1, 5000) n;
        insert into sign_ins (id, store_id, company_id, customer_id, method, identity, outcome, address, created_at)
            select gen_random_uuid(), store_id, company_id, customers.id, 'code', phone, 'signed_in', '', created_at from customers;
        insert into texts (id, store_id, company_id, number, status, created_at)
            select gen_random_uuid(), store_id, company_id, phone, 'sent', created_at from customers;
        insert into verification_codes (id, store_id, purpose, identity, sent_to, channel, customer_id, digest, issued_at, expires_at)
            select gen_random_uuid(), store_id, 'sign_in', id::text, id::text, 'sms', id, '', created_at, created_at from customers;
        insert into customer_tokens (uuid, company_id, customer_id, digest, created_at, last_used_at, expires_at, revoked_at)
            select gen_random_uuid(), company_id, id, '', created_at, created_at, created_at, created_at from customers;
        set session_replication_role = origin;
        analyze customers; analyze sign_ins; analyze texts; analyze customer_tokens; analyze verification_codes; set plan_cache_mode = force_custom_plan";
    sqlx::raw_sql(multiply).execute(&world.pool).await.unwrap();
    let get = async |path: &str| world.api(Method::GET, &format!("/storefront/int/v1/{path}")).send().await.ok(200);
    timeline(&world, &ada["customer"], "").await;
    let number = "%2B4915112345678";
    let found = ["customers?email=1@many.example", "customers?external_id=1"].map(str::to_owned).into_iter();
    let found = found.chain([format!("customers?phone={number}"), format!("texts?number={number}")]);
    for path in found.chain(["customers", "sign-ins", "tokens"].map(str::to_owned)) {
        get(&path).await;
    }
    let statements = "select name, statement, parameter_types::text[] from pg_prepared_statements
                      where statement ~ 'sign_ins|customer_|text_log|sign_in_log|session_records|from texts'";
    let prepared: Vec<(String, String, Vec<String>)> = sqlx::query_as(statements).fetch_all(&world.pool).await.unwrap();
    let (company, customer) = (world.company.uuid().to_string(), ada["customer"]["uuid"].as_str().unwrap().to_owned());
    let mut seen = 0;
    for (name, statement, types) in prepared.iter().filter(|(_, text, _)| text.contains("order by") && text.contains("limit")) {
        let value = |kind: &String| match kind.as_str() {
            "uuid" if statement.contains("company_id = $1") => format!("'{company}'"),
            "uuid" => format!("'{customer}'"),
            "bigint" => "26".to_owned(),
            "timestamp with time zone" => "'2100-01-01'".to_owned(),
            array if array.ends_with("[]") => "'{}'".to_owned(),
            _ => "'+491'".to_owned(),
        };
        let values = types.iter().map(value).collect::<Vec<_>>().join(", ");
        let explain = sqlx::AssertSqlSafe(format!("explain execute \"{name}\" ({values})"));
        let plan = sqlx::query_scalar::<_, String>(explain).fetch_all(&world.pool).await.unwrap().join("\n");
        assert!(!plan.contains("Seq Scan on") && !plan.contains("never executed"), "{statement}\n{plan}");
        seen += 1;
    }
    assert!(seen >= 8, "{seen}");
}
