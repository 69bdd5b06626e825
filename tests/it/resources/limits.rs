//! What a company may ask for at the same time and in a minute, with its API keys.

use std::time::Duration;

use futures::future::join_all;
use portico::callers::Scope;
use reqwest::Method;
use serde_json::json;
use tokio::time::timeout;

use crate::support::World;
use crate::support::gateways::paid;

#[tokio::test]
async fn a_company_has_so_many_requests_a_minute_with_all_its_keys() {
    let world = World::with(&[("companies.requests_per_minute", "3")]).await;
    let second = world.key_of(world.company, &[Scope::Read]).await;
    let (_, other) = world.another_company(&[Scope::Read]).await;
    let ask = |key: &str| world.request(Method::GET, "/fleet/int/v1/orders").key(key).send();
    for remaining in ["2", "1", "0"] {
        let answer = ask(&second).await;
        assert_eq!((answer.header("ratelimit-limit"), answer.header("ratelimit-remaining")), (Some("3"), Some(remaining)));
        answer.ok(200);
    }
    let refused = ask(&world.api_key).await;
    assert_eq!((refused.header("ratelimit-remaining"), refused.header("retry-after")), (Some("0"), refused.header("ratelimit-reset")));
    refused.refused(429, "rate_limited");
    assert_eq!(ask(&other).await.header("ratelimit-remaining"), Some("2"));
    // An unknown key is nobody's request.
    assert_eq!(ask("key_nobody").await.header("ratelimit-limit"), None);
    // Callbacks have a limit of their own.
    world.request(Method::POST, "/webhooks").key(&world.api_key).json(&paid("evt_1")).send().await.refused(404, "gateway_not_configured");
}

#[tokio::test]
async fn searches_of_one_company_leave_connections_to_others() {
    let world = World::new().await;
    let (_, other) = world.another_company(&[Scope::Read]).await;
    let mut slow = world.pool.begin().await.unwrap();
    sqlx::query("lock table orders").execute(&mut *slow).await.unwrap();
    let search = || world.api(Method::GET, "/fleet/int/v1/orders?query=nothing").send();
    let searches = join_all((0..40).map(|_| search()));
    let meanwhile = async {
        world.somebody_waits().await;
        for _ in 0..5 {
            let asked = world.request(Method::GET, "/fleet/int/v1/fleets").key(&other).send();
            timeout(Duration::from_secs(2), asked).await.expect("another company finds a connection").ok(200);
        }
        slow.rollback().await.unwrap();
    };
    let (searched, ()) = tokio::join!(searches, meanwhile);
    for answer in searched {
        answer.ok(200);
    }
}

#[tokio::test]
async fn a_line_has_an_end() {
    let world = World::with(&[("companies.concurrent_requests", "1")]).await;
    let mut slow = world.pool.begin().await.unwrap();
    sqlx::query("lock table fleets").execute(&mut *slow).await.unwrap();
    let ask = || world.api(Method::GET, "/fleet/int/v1/fleets").send();
    let answers = join_all((0..111).map(|_| ask()));
    let meanwhile = async {
        world.somebody_waits().await;
        slow.rollback().await.unwrap();
    };
    let (answers, ()) = tokio::join!(answers, meanwhile);
    let (served, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status == 200);
    for answer in refused {
        answer.refused(429, "rate_limited");
    }
    assert!(served.len() >= 101, "{}", served.len());
}

#[tokio::test]
async fn a_search_without_an_index_reads_so_many_records_for_a_page_and_goes_on() {
    let world = World::new().await;
    sqlx::query(
        "insert into fleets (id, company_id, version, created_at, updated_at, name, status, meta)
         select gen_random_uuid(), $1, 1, now() - number * interval '1 second', now(), case number when 5500 then 'Needle' else 'Hay' end,
                'active', '{}'
         from generate_series(1, 6000) as number",
    )
    .bind(world.company.uuid())
    .execute(&world.pool)
    .await
    .unwrap();
    let first = world.api(Method::GET, "/fleet/int/v1/fleets?query=needle").send().await.ok(200);
    assert_eq!(first["fleets"], json!([]));
    let next = first["meta"]["next"].as_str().unwrap();
    let second = world.api(Method::GET, &format!("/fleet/int/v1/fleets?query=needle&after={next}")).send().await.ok(200);
    assert_eq!((&second["fleets"][0]["name"], &second["meta"]["next"]), (&json!("Needle"), &json!(null)));
}
