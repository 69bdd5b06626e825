//! API keys: decisions, section 2. Every route below `…/int/v1` refuses requests without a key or without the scope it requires.

use std::fs;
use std::path::Path;

use futures::future::{join, join_all};
use portico::callers::{Caller, Scope};
use portico::developers::revoke_api_key;
use reqwest::Method;

use crate::architecture::sources::{Source, sources};
use crate::support::World;
use crate::support::routes::{NOBODY, OTHER_ROUTES, RESOURCES, all_routes};

/// The route that payment gateways call with a key; it has a scope of its own.
const CALLBACKS: &str = "/webhooks";

#[tokio::test]
async fn every_route_refuses_without_its_key() {
    let world = World::new().await;
    let unknown = format!("key_{}", "0".repeat(40));
    for (method, path) in all_routes(NOBODY) {
        let request = || world.request(method.clone(), &path);
        request().send().await.refused(401, "api_key_invalid");
        for key in ["", "key_", &unknown, &world.store_key, &world.api_key[..43]] {
            request().key(key).send().await.refused(401, "api_key_invalid");
        }
    }
    world.request(Method::POST, CALLBACKS).send().await.refused(401, "api_key_invalid");
    sqlx::query("update api_keys set revoked_at = created_at").execute(&world.pool).await.unwrap();
    world.api(Method::GET, "/fleet/int/v1/orders").send().await.refused(401, "api_key_invalid");
}

#[tokio::test]
async fn unknown_keys_are_limited_for_each_client_and_known_ones_are_not_held_up() {
    let world = World::new().await;
    let ask = |key: &str, address: &str| world.request(Method::GET, "/fleet/int/v1/orders").key(key).from(address).send();
    let guess = |n: usize| format!("key_{n:040}");
    // Valid keys whose cache entry has expired are looked up again, and do not count.
    for _ in 0..20 {
        world.pass(chrono::TimeDelta::seconds(2));
        ask(&world.api_key, "203.0.113.9").await.ok(200);
    }
    let mut refused = None;
    for batch in 0..200 {
        let guesses: Vec<_> = (0..25).map(|n| guess(25 * batch + n)).collect();
        let answers = join_all(guesses.iter().map(|key| ask(key, "203.0.113.9"))).await;
        let other = answers.into_iter().find(|answer| answer.status != 401);
        assert!(batch >= 20 || other.is_none(), "600 in a minute are allowed: {other:?}");
        refused = refused.or(other);
        if refused.is_some() {
            break;
        }
    }
    refused.expect("there is a limit").refused(429, "rate_limited");
    // Keys that were used here before, be they cached or not, and clients in other networks are not affected.
    let mut refused = 0;
    for batch in 0..10 {
        world.pass(chrono::TimeDelta::seconds(2));
        let guesses: Vec<_> = (0..50).map(|n| guess(50 * batch + n)).collect();
        let strangers = join_all(guesses.iter().map(|key| ask(key, "203.0.113.9")));
        let (strangers, known) = join(strangers, ask(&world.api_key, "203.0.113.9")).await;
        known.ok(200);
        refused += strangers.iter().filter(|stranger| stranger.status == 429).count();
    }
    assert!(refused > 0, "the limit is used up meanwhile");
    ask(&guess(0), "203.0.113.10").await.refused(401, "api_key_invalid");
}

#[tokio::test]
async fn every_route_refuses_without_its_scope() {
    let world = World::new().await;
    let gateway = world.key_of(world.company, &[Scope::Callbacks]).await;
    let publisher = world.key_of(world.company, &[Scope::Events]).await;
    let reader = world.key_of(world.company, &[Scope::Read]).await;
    let writer = world.key_of(world.company, &[Scope::Write]).await;
    for (method, path) in all_routes(NOBODY) {
        let request = || world.request(method.clone(), &path).header("content-type", "application/json").body("{}");
        request().key(&gateway).send().await.refused(403, "scope_missing");
        match (&method, &*path) {
            (&Method::POST, "/developers/int/v1/events") => request().key(&publisher).send().await.refused(422, "body_invalid"),
            _ => request().key(&publisher).send().await.refused(403, "scope_missing"),
        };
        // Asking whose a token is changes nothing.
        let asks = path.ends_with("/tokens/introspect");
        // What is exported leaves the company, which takes more than looking at it.
        let exports = path.ends_with("/export");
        if exports || method != Method::GET && !asks {
            request().key(&reader).send().await.refused(403, "scope_missing");
        }
        let needs_admin = path.contains("/api-keys") || path.contains("/gateways") || path == "/developers/int/v1/events";
        let reads = asks || method == Method::GET;
        if reads || needs_admin {
            request().key(&writer).send().await.refused(403, "scope_missing");
        }
    }
    world.request(Method::POST, CALLBACKS).key(&reader).body("{}").send().await.refused(403, "scope_missing");
}

/// The routes cannot be read from the router, so this test reads them from its source and from the bundled extensions. A new route
/// must be added to one of the two tables.
#[test]
fn no_api_route_is_forgotten() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["fleet/", "gateways/", "developers/", "webhooks/", "portal/", "storefront/resources/"];
    let (mut resources, mut others) = (0, 0);
    for Source { path: file, text } in sources().into_iter().filter(|source| folders.iter().any(|folder| source.path.starts_with(folder))) {
        for plural in text.split("const PLURAL: &'static str = \"").skip(1).map(|rest| rest.split('"').next().unwrap().replace('_', "-")) {
            assert!(RESOURCES.iter().any(|(_, listed, _)| *listed == plural), "{plural} of {file} is in no table");
            resources += 1;
        }
        let words = text.split("Method::").skip(1).filter_map(|rest| rest.split('"').nth(1));
        // Requests that the service makes have a method as well, but what follows it is no path.
        for path in words.filter(|word| word.starts_with('/')) {
            if [CALLBACKS, "/webhooks/{gateway}"].contains(&path) {
                continue;
            }
            assert!(OTHER_ROUTES.iter().any(|(_, _, listed)| *listed == path), "{path} of {file} is in no table");
            others += 1;
        }
    }
    for file in fs::read_dir(root.join("config/extensions")).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        let headings = text.lines().filter_map(|line| line.strip_prefix("[resources.")?.strip_suffix(']')).filter(|key| !key.contains('.'));
        for plural in headings {
            assert!(RESOURCES.iter().any(|(_, listed, _)| *listed == plural), "{plural} is in no table");
            resources += 1;
        }
    }
    assert_eq!((resources, others), (RESOURCES.len(), OTHER_ROUTES.len()));
}

#[tokio::test]
async fn one_key_is_revoked_without_the_others() {
    let world = World::new().await;
    let other = world.key_of(world.company, &[Scope::Read]).await;
    let id: uuid::Uuid = sqlx::query_scalar("select id from api_keys where name = 'another'").fetch_one(&world.pool).await.unwrap();
    let caller = Caller::command_line(world.company);
    let revoke = || revoke_api_key(&world.state.companies, &caller, id.into());
    assert!(revoke().await.unwrap());
    assert!(!revoke().await.unwrap());
    world.request(Method::GET, "/fleet/int/v1/orders").key(&other).send().await.refused(401, "api_key_invalid");
    world.api(Method::GET, "/fleet/int/v1/orders").send().await.ok(200);

    let id: uuid::Uuid = sqlx::query_scalar("select id from store_keys").fetch_one(&world.pool).await.unwrap();
    let conn = &mut world.pool.acquire().await.unwrap();
    assert!(portico::storefront::revoke_store_key(conn, &caller, id.into(), world.clock.now()).await.unwrap());
    world.storefront_get("customers/me").send().await.refused(401, "store_key_invalid");
}
