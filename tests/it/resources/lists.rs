//! Lists of extension resources: decisions, section 9 (list parameters). Drivers and orders represent all resources.

use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::TimeDelta;
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::World;
use crate::support::fleet::id;

fn names(list: &Value) -> Vec<&str> {
    list["drivers"].as_array().unwrap().iter().map(|driver| driver["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_list_is_paged_through_without_losing_or_repeating_anything() {
    let world = World::new().await;
    // The clock does not advance, so all records of a group have the same creation time.
    for group in 0..3 {
        for n in 0..5 {
            world.driver(&format!("Driver {group}.{n}")).await;
        }
        world.pass(TimeDelta::seconds(1));
    }
    let mut orders = Vec::new();
    for sort in ["created_at", "-created_at"] {
        let (mut seen, mut page) = (Vec::new(), world.fleet_list(&format!("drivers?limit=4&sort={sort}")).await);
        loop {
            seen.extend(page["drivers"].as_array().unwrap().iter().map(|driver| id(driver).to_owned()));
            assert_eq!(page["meta"]["per_page"], 4);
            // Records deleted or created in between do not shift the pages.
            world.fleet(Method::DELETE, &format!("drivers/{}", seen[0])).send().await;
            let Some(next) = page["meta"]["next"].as_str() else { break };
            page = world.fleet_list(&format!("drivers?limit=4&after={next}")).await;
        }
        assert_eq!(seen.iter().collect::<HashSet<_>>().len(), seen.len(), "{seen:?}");
        orders.push(seen);
    }
    assert_eq!((orders[0].len(), orders[1].len()), (15, 14));
    orders[1].reverse();
    assert_eq!(orders[0][1..], orders[1]);
    assert_eq!(names(&world.fleet_list("drivers?limit=1").await)[0].split('.').next(), Some("Driver 2"), "the newest record comes first");
}

#[tokio::test]
async fn a_forged_place_in_a_list_is_refused() {
    let world = World::new().await;
    for year in [
        i64::MIN,
        i64::MIN / 2,
        -8_334_601_228_800_000_000,
        -62_135_596_800_000_001,
        253_402_300_800_000_000,
        8_210_266_876_799_999_999,
        i64::MAX,
    ] {
        let mut place = vec![0];
        place.extend(year.to_be_bytes());
        place.extend([7; 16]);
        let check = Sha256::digest(&place);
        place.extend(&check[..4]);
        let path = format!("/fleet/int/v1/drivers?after={}", URL_SAFE_NO_PAD.encode(place));
        world.api(Method::GET, &path).send().await.refused(422, "parameter_invalid");
    }
}

#[tokio::test]
async fn the_last_page_may_be_full() {
    let world = World::new().await;
    for n in 0..3 {
        world.driver(&format!("Driver {n}")).await;
    }
    assert_eq!(world.fleet_list("drivers?limit=3").await["meta"]["next"], json!(null));
    let next = world.fleet_list("drivers?limit=2").await["meta"]["next"].as_str().unwrap().to_owned();
    let last = world.fleet_list(&format!("drivers?limit=2&after={next}")).await;
    assert_eq!((last["drivers"].as_array().unwrap().len(), &last["meta"]["next"]), (1, &json!(null)));
}

#[tokio::test]
async fn a_list_is_narrowed_by_columns_words_and_time() {
    let world = World::new().await;
    for body in [
        json!({ "name": "Ada 100%", "phone": "+12015550123", "online": true }),
        json!({ "name": "ada_b", "license_number": "B-7" }),
        json!({ "name": r"back\slash", "online": true }),
    ] {
        world.fleet(Method::POST, "drivers").json(&body).send().await.ok(201);
        world.pass(TimeDelta::seconds(1));
    }
    let at = |second: u8| format!("2026-05-21T10:15:0{second}.000+00:00");
    for (parameters, expected) in [
        ("online=true".to_owned(), vec![r"back\slash", "Ada 100%"]),
        ("online=true&phone=%2B12015550123".to_owned(), vec!["Ada 100%"]),
        ("license_number=B-7&online=true".to_owned(), vec![]),
        ("query=ada".to_owned(), vec!["ada_b", "Ada 100%"]),
        ("query=b-7".to_owned(), vec!["ada_b"]),
        ("query=%25".to_owned(), vec!["Ada 100%"]),
        ("query=_".to_owned(), vec!["ada_b"]),
        (r"query=%5C".to_owned(), vec![r"back\slash"]),
        ("query='%20or%20true%20--".to_owned(), vec![]),
        ("query=".to_owned(), vec![r"back\slash", "ada_b", "Ada 100%"]),
        (format!("created_after={}", at(0)), vec![r"back\slash", "ada_b"]),
        (format!("created_before={}", at(2)), vec!["ada_b", "Ada 100%"]),
        (format!("created_after={}&created_before={}&sort=created_at", at(0), at(2)), vec!["ada_b"]),
        ("created_after=2026-05-21T12:15:01%2B02:00".to_owned(), vec![r"back\slash"]),
    ] {
        assert_eq!(names(&world.fleet_list(&format!("drivers?{parameters}")).await), expected, "{parameters}");
    }
}

#[tokio::test]
async fn a_bad_parameter_is_refused_by_name() {
    let world = World::new().await;
    world.driver("Ada").await;
    world.driver("Bob").await;
    let next = world.fleet_list("drivers?limit=1").await["meta"]["next"].as_str().unwrap().to_owned();
    for (parameters, name) in [
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("limit=1e1", "limit"),
        ("limit=5&limit=6", "limit"),
        ("page=2", "page"),
        ("name=Ada", "name"),
        ("sort=name", "sort"),
        ("sort=", "sort"),
        ("after=nonsense", "after"),
        (&format!("after={}", &next[1..]), "after"),
        (&format!("after={next}&sort=created_at"), "after"),
        ("created_after=today", "created_after"),
        ("created_before=5", "created_before"),
        ("online=maybe", "online"),
        ("query=%00", "query"),
        ("email=%00", "email"),
        ("id';--=1", "id';--"),
    ] {
        let refusal = world.fleet(Method::GET, &format!("drivers?{parameters}")).send().await.refused(422, "parameter_invalid");
        assert_eq!(refusal["parameter"], name, "{parameters}");
        assert!(refusal["detail"].as_str().unwrap().contains(name), "{parameters}");
    }
    world.fleet(Method::GET, "tracking-statuses?query=a").send().await.refused(422, "parameter_invalid");
    world.fleet(Method::GET, "orders?driver=order_7").send().await.refused(422, "parameter_invalid");
}

#[tokio::test]
async fn a_word_that_nothing_can_have_is_refused_in_every_list() {
    let world = World::new().await;
    let document = world.request(Method::GET, "/openapi.json").send().await.ok(200);
    let mut closed = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for parameter in item["get"]["parameters"].as_array().into_iter().flatten() {
            let name = parameter["name"].as_str().unwrap();
            // Where the values of `status` are not enumerated, the shop defines them.
            assert!(name != "status" || parameter["schema"]["enum"].is_array() || path.ends_with("/tracking-statuses"), "{path}");
            let Some(words) = parameter["schema"]["enum"].as_array() else { continue };
            let ask = |word: &str| world.api(Method::GET, &format!("{path}?{name}={word}")).send();
            for word in words {
                ask(word.as_str().unwrap()).await.ok(200);
            }
            let refusal = ask("flying").await.refused(422, "parameter_invalid");
            assert_eq!(refusal["parameter"], name, "{path}");
            closed.push(format!("{path}?{name}"));
        }
    }
    for known in [
        "/ledger/int/v1/callbacks?status",
        "/ledger/int/v1/callbacks?reason",
        "/storefront/int/v1/texts?refusal",
        "/ledger/int/v1/payments?kind",
        "/developers/int/v1/deliveries?status",
        "/support/int/v1/tickets?status",
    ] {
        assert!(closed.iter().any(|filter| filter == known), "{known}");
    }
}

#[tokio::test]
async fn a_rare_word_is_found_by_an_index_and_a_common_one_among_the_newest() {
    // A single connection, so that its usage statistics can be read.
    let world = World::with(&[("database.max_connections", "1")]).await;
    let sql = "insert into orders (id, company_id, version, created_at, updated_at, status, skip_dispatch, tracking_number, pickup, meta)
               select gen_random_uuid(), $1, 1, now() + n * interval '1 second', now(), 'created', false, lpad(n::text, 12, '0'), '1 Mill Lane', '{}'
               from generate_series(1, 20000) n";
    sqlx::query(sql).bind(world.company.uuid()).execute(&world.pool).await.unwrap();
    sqlx::query("vacuum analyze orders").execute(&world.pool).await.unwrap();
    let used = async || -> i64 {
        sqlx::query("select pg_stat_force_next_flush()").execute(&world.pool).await.unwrap();
        world.count("select idx_scan from pg_stat_user_indexes where indexrelname = 'orders_by_text'").await
    };
    // The common word, often enough for PostgreSQL to switch to a generic plan.
    for _ in 0..10 {
        assert_eq!(world.fleet_list("orders?query=mill&limit=2").await["orders"].as_array().unwrap().len(), 2);
    }
    assert_eq!(used().await, 0);
    assert_eq!(world.fleet_list("orders?query=000000004711").await["orders"].as_array().unwrap().len(), 1);
    assert!(used().await > 0);
}
