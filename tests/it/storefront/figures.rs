//! How many sign-ins and texts there were, and how much of their budgets the stores have used.

use chrono::TimeDelta;
use portico::callers::Scope;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::customers::{EMAIL, PASSWORD, PHONE, ask_to_register, ask_to_sign_in, login};

async fn figures(world: &World, query: &str) -> Value {
    world.api(Method::GET, &format!("/storefront/int/v1/figures{query}")).send().await.ok(200)["figures"].take()
}

#[tokio::test]
async fn figures_are_the_same_before_and_after_they_are_counted_into_hours() {
    let world = World::new().await;
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    world.register(PHONE).await;
    login(&world, EMAIL, PASSWORD).await.ok(200);
    login(&world, EMAIL, "wrong password").await.refused(401, "credentials_invalid");
    ask_to_register(&world, "+12015550124").await.ok(200);
    ask_to_sign_in(&world, PHONE).await.refused(429, "number_cooldown");
    let expected = |figures: &Value| {
        assert_eq!(
            figures["sign_ins"],
            json!([
                { "method": "password", "succeeded": 1, "refused": 1 },
                { "method": "registration", "succeeded": 2, "refused": 0 },
            ])
        );
        assert_eq!(
            figures["texts"],
            json!([
                { "status": "sent", "rule": null, "total": 2 },
                { "status": "refused", "rule": "seconds_between_texts", "total": 1 },
            ])
        );
        assert_eq!((&figures["budgets"][0]["used"], &figures["budgets"][0]["limit"]), (&json!(2), &json!(1000)));
        assert_eq!(figures["budgets"][0]["store"], world.store.to_string());
    };
    expected(&figures(&world, "").await);
    expected(&figures(&world, "?period=7d").await);
    for _ in 0..3 {
        world.pass(TimeDelta::minutes(4));
        world.state.storefront.sweep().await.unwrap();
        expected(&figures(&world, "?period=24h").await);
    }
    assert_eq!(world.count("select sum(total)::bigint from sign_in_hours").await, 4);
    assert_eq!(world.count("select sum(total)::bigint from text_hours").await, 3);

    // What came in since is added, and what is older than the period is left out.
    login(&world, EMAIL, PASSWORD).await.ok(200);
    assert_eq!(figures(&world, "").await["sign_ins"][0]["succeeded"], 2);
    world.pass(TimeDelta::days(2));
    world.state.storefront.sweep().await.unwrap();
    assert_eq!(figures(&world, "").await["sign_ins"], json!([]));
    assert_eq!(figures(&world, "").await["budgets"], json!([]));
    assert_eq!(figures(&world, "?period=7d").await["sign_ins"][0], json!({ "method": "password", "succeeded": 2, "refused": 1 }));
    world.pass(TimeDelta::days(90));
    world.state.storefront.sweep().await.unwrap();
    assert_eq!(world.count("select count(*) from sign_in_hours").await + world.count("select count(*) from text_hours").await, 0);
}

#[tokio::test]
async fn instances_that_count_at_the_same_time_count_nothing_twice() {
    let world = World::new().await;
    for number in 0..5 {
        world.register(&format!("ada{number}@example.com")).await;
    }
    world.pass(TimeDelta::minutes(10));
    let other = world.another_instance();
    let sweeps = (0..8).map(|turn| if turn % 2 == 0 { world.state.storefront.sweep() } else { other.state.storefront.sweep() });
    for swept in futures::future::join_all(sweeps).await {
        swept.unwrap();
    }
    assert_eq!(world.count("select sum(total)::bigint from sign_in_hours").await, 5);
}

#[tokio::test]
async fn figures_are_of_one_company_and_for_those_who_see_customers() {
    let world = World::new().await;
    world.register(EMAIL).await;
    let (_, other) = world.another_company(&[Scope::Read]).await;
    let path = "/storefront/int/v1/figures";
    assert_eq!(world.request(Method::GET, path).key(&other).send().await.ok(200)["figures"]["sign_ins"], json!([]));
    let publisher = world.key_of(world.company, &[Scope::Events]).await;
    world.request(Method::GET, path).key(&publisher).send().await.refused(403, "scope_missing");
    world.api(Method::GET, "/storefront/int/v1/figures?period=1y").send().await.refused(422, "parameter_invalid");
}

#[tokio::test]
async fn paused_stores_are_found() {
    let world = World::new().await;
    let list = async |paused: bool| {
        let found = world.api(Method::GET, &format!("/storefront/int/v1/stores?texts_paused={paused}")).send().await.ok(200);
        found["stores"].as_array().unwrap().len()
    };
    assert_eq!((list(true).await, list(false).await), (0, 1));
    let path = format!("/storefront/int/v1/stores/{}", world.store);
    world.api(Method::PUT, &path).json(&json!({ "texts_paused": true })).send().await.ok(200);
    assert_eq!((list(true).await, list(false).await), (1, 0));
}
