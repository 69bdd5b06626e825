//! A company's change concerns that company: nobody else is looked up again because of it, and nothing at all because of none.

use portico::app::Metrics;
use portico::callers::Scope;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::customers::{EMAIL, PHONE, token};
use crate::support::gateways::paid;
use crate::support::receiver::Reply;
use crate::support::{Answer, World};

const WORDINGS: &str = "/storefront/int/v1/message-wordings";
const HOOKS: &str = "/storefront/int/v1/registration-hooks";

/// How many look-ups in this cache were in vain.
fn misses(world: &World, cache: &str) -> u64 {
    let series = format!("portico_cache_look_ups_total{{cache=\"{cache}\",outcome=\"miss\"}} ");
    let text = Metrics::new(world.state.clone()).render();
    text.lines().find_map(|line| line.strip_prefix(&series)).expect("the cache is measured").parse().unwrap()
}

/// A request of another company.
async fn theirs(world: &World, key: &str, method: Method, path: &str, body: &Value) -> Answer {
    world.request(method, path).key(key).json(body).send().await
}

/// Signs a session in, and has it and its store cached.
async fn a_customer(world: &World) -> String {
    let customer = token(&world.register(EMAIL).await);
    me(world, &customer).await;
    customer
}

async fn me(world: &World, customer: &str) {
    world.storefront_get("customers/me").token(customer).send().await.ok(200);
}

#[tokio::test]
async fn a_store_that_another_company_saves_sixty_times_has_nobody_looked_up_again() {
    let world = World::new().await;
    let (other, key) = world.another_company(&Scope::ALL).await;
    let path = format!("/storefront/int/v1/stores/{}", world.store_of(other).await.0);
    let customer = a_customer(&world).await;
    let before = ["stores", "sessions"].map(|cache| misses(&world, cache));
    for round in 0..60 {
        theirs(&world, &key, Method::PUT, &path, &json!({ "name": "Other Shop" })).await.ok(200);
        me(&world, &customer).await;
        theirs(&world, &key, Method::PUT, &path, &json!({ "name": format!("Other Shop {round}") })).await.ok(200);
        me(&world, &customer).await;
    }
    assert_eq!(["stores", "sessions"].map(|cache| misses(&world, cache)), before);
}

#[tokio::test]
async fn an_unchanged_store_costs_its_own_company_nothing_and_a_changed_one_is_looked_up_at_once() {
    let world = World::new().await;
    let customer = a_customer(&world).await;
    let [stores, sessions] = ["stores", "sessions"].map(|cache| misses(&world, cache));
    world.change_store(json!({ "name": "Acme Shop" })).await.ok(200);
    me(&world, &customer).await;
    assert_eq!(misses(&world, "stores"), stores);
    world.change_store(json!({ "name": "Acme Outlet" })).await.ok(200);
    me(&world, &customer).await;
    // A session has nothing of its store that could have changed.
    assert_eq!([misses(&world, "stores"), misses(&world, "sessions")], [stores + 1, sessions]);
}

#[tokio::test]
async fn keys_and_gateways_of_others_do_not_end_what_is_cached_of_ours() {
    let world = World::new().await;
    let (_, key) = world.another_company(&Scope::ALL).await;
    // Noting that a key is used would evict it once.
    sqlx::query("update api_keys set last_used_at = $1").bind(world.clock.now()).execute(&world.pool).await.unwrap();
    let mut paths = Vec::new();
    for (kind, path, body) in [
        ("api_key", "/developers/int/v1/api-keys", json!({ "name": "Theirs", "scopes": ["read"] })),
        ("gateway", "/ledger/int/v1/gateways", json!({ "name": "Theirs", "driver": "manual" })),
    ] {
        let made = theirs(&world, &key, Method::POST, path, &body).await.ok(201);
        paths.push(format!("{path}/{}", made[kind]["id"].as_str().unwrap()));
    }
    let card = world.card().await;
    world.call_back(&card, &paid("evt_1")).await.ok(200);
    for round in 0..10 {
        for path in &paths {
            theirs(&world, &key, Method::PUT, path, &json!({ "name": format!("Theirs {round}") })).await.ok(200);
        }
        let before = ["api_keys", "gateways"].map(|cache| misses(&world, cache));
        world.ledger(Method::GET, "gateways").send().await.ok(200);
        world.call_back(&card, &paid("evt_1")).await.ok(200);
        assert_eq!(["api_keys", "gateways"].map(|cache| misses(&world, cache)), before, "round {round}");
    }
}

#[tokio::test]
async fn wordings_of_others_do_not_end_what_is_cached_of_ours() {
    let world = World::new().await;
    let (_, key) = world.another_company(&Scope::ALL).await;
    let words = |greeting: &str| json!({ "create_account": { "text": format!("{{code}}: {greeting} {{store}}!") } });
    let text_to = async |number: &str| {
        let body = json!({ "mode": "sms", "identity": number });
        world.storefront("customers/request-creation-code").header("accept-language", "en").json(&body).send().await.ok(200);
        world.messages()[0].text.clone()
    };
    let of_theirs =
        theirs(&world, &key, Method::POST, WORDINGS, &json!({ "language": "en", "messages": words("hello from") })).await.ok(201);
    let of_theirs = format!("{WORDINGS}/{}", of_theirs["message_wording"]["id"].as_str().unwrap());
    world.api(Method::POST, WORDINGS).json(&json!({ "language": "en", "messages": words("welcome to") })).send().await.ok(201);
    assert!(text_to(PHONE).await.contains("welcome to"));

    // What another instance deletes is found here for a second, unless it is evicted.
    let gone = sqlx::query("update message_wordings set deleted_at = $1 where company_id = $2");
    gone.bind(world.clock.now()).bind(world.company.uuid()).execute(&world.pool).await.unwrap();
    theirs(&world, &key, Method::PUT, &of_theirs, &json!({ "messages": words("greetings from") })).await.ok(200);
    assert!(text_to("+12015560124").await.contains("welcome to"));
    world.api(Method::POST, WORDINGS).json(&json!({ "language": "de", "messages": {} })).send().await.ok(201);
    assert!(!text_to("+12015570125").await.contains("welcome to"), "a change of our own is seen at once");
}

#[tokio::test]
async fn hooks_of_others_do_not_end_what_is_cached_of_ours() {
    let world = World::new().await;
    let (other, key) = world.another_company(&Scope::ALL).await;
    let receiver = world.endpoint("hook.test").await;
    let allow = || Reply::Answer(200, Vec::new(), br#"{"allow":true}"#.to_vec());
    receiver.will([allow(), allow()]);
    let their_hook = json!({ "store": world.store_of(other).await.0, "url": receiver.url() });
    let of_theirs = theirs(&world, &key, Method::POST, HOOKS, &their_hook).await.ok(201);
    let of_theirs = format!("{HOOKS}/{}", of_theirs["registration_hook"]["id"].as_str().unwrap());
    world.api(Method::POST, HOOKS).json(&json!({ "store": world.store, "url": receiver.url() })).send().await.ok(201);
    world.register(EMAIL).await;
    assert_eq!(receiver.count(), 1);

    // What another instance deletes is found here for a second, unless it is evicted.
    let gone = sqlx::query("update registration_hooks set deleted_at = $1 where company_id = $2");
    gone.bind(world.clock.now()).bind(world.company.uuid()).execute(&world.pool).await.unwrap();
    theirs(&world, &key, Method::PUT, &of_theirs, &json!({ "on_failure": "allow" })).await.ok(200);
    world.register("bob@example.com").await;
    assert_eq!(receiver.count(), 2);
    let inactive = json!({ "store": world.store, "url": receiver.url(), "status": "inactive" });
    world.api(Method::POST, HOOKS).json(&inactive).send().await.ok(201);
    world.register("eve@example.com").await;
    assert_eq!(receiver.count(), 2, "a change of our own is seen at once");
}
