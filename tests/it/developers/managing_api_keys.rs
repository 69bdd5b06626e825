//! API keys as records of `developers/int/v1`: decisions, sections 2 and 9.

use chrono::TimeDelta;
use portico::callers::Scope;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::fleet::{id, uuid};
use crate::support::program::{printed, refused};
use crate::support::request::Request;
use crate::support::waiting::until;

fn text(key: &Value) -> &str {
    key["key"].as_str().unwrap()
}

impl World {
    /// Creates a key with another key; the response contains the new key.
    async fn make_key(&self, with: &str, body: Value) -> Value {
        let answer = self.request(Method::POST, "/developers/int/v1/api-keys").key(with).json(&body).send().await;
        answer.ok(201)["api_key"].take()
    }

    fn keys(&self, method: Method, with: &str, path: &str) -> Request {
        self.request(method, &format!("/developers/int/v1/api-keys{path}")).key(with)
    }

    /// The status of a request with a key from an address.
    async fn use_key(&self, key: &str, from: &str) -> u16 {
        self.request(Method::GET, "/fleet/int/v1/orders").key(key).from(from).send().await.status
    }
}

#[tokio::test]
async fn a_key_is_shown_once_and_never_again() {
    let world = World::new().await;
    let made = world.make_key(&world.api_key, json!({ "name": "Reports", "scopes": ["read", "read"] })).await;
    assert!(text(&made).starts_with("key_") && text(&made).len() == 44);
    assert_eq!((&made["scopes"], &made["allowed_networks"], &made["expires_at"]), (&json!(["read"]), &json!([]), &json!(null)));
    assert_eq!(world.use_key(text(&made), "203.0.113.9").await, 200);
    let path = format!("/{}", id(&made));
    let found = world.keys(Method::GET, &world.api_key, &path).send().await.ok(200);
    let listed = world.keys(Method::GET, &world.api_key, "").send().await.ok(200);
    let changed = world.keys(Method::PUT, &world.api_key, &path).json(&json!({ "name": "Other" })).send().await.ok(200);
    for answer in [&found, &listed, &changed] {
        let answer = answer.to_string();
        assert!(!answer.contains(text(&made)) && !answer.contains(&world.api_key) && !answer.contains("digest"), "{answer}");
    }
    assert_eq!(listed["api_keys"].as_array().unwrap().len(), 2);
    assert_eq!(found["api_key"].get("key"), None);
}

#[tokio::test]
async fn only_admin_may_look_at_keys_and_only_at_the_companys_own() {
    let world = World::new().await;
    let made = world.make_key(&world.api_key, json!({ "name": "Reports", "scopes": ["read", "write", "events", "callbacks"] })).await;
    for method in [Method::GET, Method::POST] {
        world.keys(method, text(&made), "").json(&json!({})).send().await.refused(403, "scope_missing");
    }
    let (_, other) = world.another_company(&[Scope::Admin]).await;
    let path = format!("/{}", id(&made));
    for (method, path) in
        [(Method::GET, path.clone()), (Method::PUT, path.clone()), (Method::DELETE, path.clone()), (Method::POST, format!("{path}/roll"))]
    {
        world.keys(method, &other, &path).json(&json!({})).send().await.refused(404, "record_not_found");
    }
    assert_eq!(world.keys(Method::GET, &other, "").send().await.ok(200)["api_keys"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_revoked_key_is_refused_from_the_next_request_on() {
    let world = World::new().await;
    let made = world.make_key(&world.api_key, json!({ "name": "Reports", "scopes": ["read"] })).await;
    assert_eq!(world.use_key(text(&made), "203.0.113.9").await, 200);
    world.keys(Method::DELETE, &world.api_key, &format!("/{}", id(&made))).send().await.ok(200);
    assert_eq!(world.use_key(text(&made), "203.0.113.9").await, 401);
    world.keys(Method::GET, &world.api_key, &format!("/{}", id(&made))).send().await.refused(404, "record_not_found");
}

#[tokio::test]
async fn a_rolled_key_and_its_successor_overlap() {
    let world = World::new().await;
    let old =
        world.make_key(&world.api_key, json!({ "name": "Reports", "scopes": ["read"], "allowed_networks": ["203.0.113.0/24"] })).await;
    let path = format!("/{}/roll", id(&old));
    let new = world.keys(Method::POST, &world.api_key, &path).json(&json!({ "overlap": 60 })).send().await.ok(201)["api_key"].take();
    assert_eq!((&new["replaces"], &new["scopes"], &new["allowed_networks"]), (&old["id"], &json!(["read"]), &json!(["203.0.113.0/24"])));
    for (seconds, before, after) in [(0, 200, 200), (59, 200, 200), (1, 401, 200)] {
        world.pass(TimeDelta::seconds(seconds));
        assert_eq!((world.use_key(text(&old), "203.0.113.9").await, world.use_key(text(&new), "203.0.113.9").await), (before, after));
    }
    let seen = world.keys(Method::GET, &world.api_key, &format!("/{}", id(&old))).send().await.ok(200);
    assert_eq!(seen["api_key"]["revoked_at"], "2026-05-21T10:16:00.000+00:00");
    world.keys(Method::POST, &world.api_key, &path).send().await.refused(422, "api_key_ended");
    world.keys(Method::POST, &world.api_key, &path).json(&json!({ "overlap": 2_592_001 })).send().await.refused(422, "body_invalid");

    let path = format!("/{}/roll", id(&new));
    let at_once = world.keys(Method::POST, &world.api_key, &path).json(&json!({ "overlap": 0 })).send().await.ok(201)["api_key"].take();
    assert_eq!((world.use_key(text(&new), "203.0.113.9").await, world.use_key(text(&at_once), "203.0.113.9").await), (401, 200));
    // Rolling the key again during its overlap does not extend the life of the old key.
    let path = format!("/{}/roll", id(&at_once));
    for overlap in [60, 3600] {
        world.keys(Method::POST, &world.api_key, &path).json(&json!({ "overlap": overlap })).send().await.ok(201);
    }
    world.pass(TimeDelta::seconds(60));
    assert_eq!(world.use_key(text(&at_once), "203.0.113.9").await, 401);
}

#[tokio::test]
async fn a_rolled_key_lives_for_another_day_unless_the_overlap_is_named() {
    let world = World::new().await;
    let old = world.make_key(&world.api_key, json!({ "name": "Reports", "scopes": ["read"] })).await;
    world.keys(Method::POST, &world.api_key, &format!("/{}/roll", id(&old))).send().await.ok(201);
    world.pass(TimeDelta::seconds(86_399));
    assert_eq!(world.use_key(text(&old), "203.0.113.9").await, 200);
    world.pass(TimeDelta::seconds(1));
    assert_eq!(world.use_key(text(&old), "203.0.113.9").await, 401);
}

#[tokio::test]
async fn a_key_is_good_from_its_networks_only() {
    let world = World::new().await;
    let networks = json!(["203.0.113.7/24", "2001:db8::1"]);
    let made = world.make_key(&world.api_key, json!({ "name": "Office", "scopes": ["read"], "allowed_networks": networks })).await;
    assert_eq!(made["allowed_networks"], json!(["203.0.113.0/24", "2001:db8::1/128"]));
    for (from, status) in
        [("203.0.113.9", 200), ("2001:db8::1", 200), ("203.0.114.9", 403), ("2001:db8::2", 403), ("::ffff:203.0.113.9", 200)]
    {
        assert_eq!(world.use_key(text(&made), from).await, status, "{from}");
    }
    let request = world.request(Method::GET, "/fleet/int/v1/orders").key(text(&made)).from("9.9.9.9");
    request.send().await.refused(403, "address_forbidden");
    let refused =
        world.keys(Method::POST, &world.api_key, "").json(&json!({ "name": "x", "scopes": ["read"], "allowed_networks": ["office"] }));
    let refused = refused.send().await.refused(422, "body_invalid");
    assert_eq!(
        refused["fields"],
        json!({ "allowed_networks": ["\"office\" is neither an address nor a network such as 203.0.113.0/24."] })
    );
}

#[tokio::test]
async fn a_key_ends_when_it_was_to_end() {
    let world = World::new().await;
    let until = "2026-05-21T11:15:00.000+00:00";
    let made = world.make_key(&world.api_key, json!({ "name": "Guest", "scopes": ["read"], "expires_at": until })).await;
    assert_eq!(made["expires_at"], until);
    world.pass(TimeDelta::minutes(59));
    assert_eq!(world.use_key(text(&made), "203.0.113.9").await, 200);
    world.pass(TimeDelta::minutes(1));
    assert_eq!(world.use_key(text(&made), "203.0.113.9").await, 401);
    for (body, field) in [
        (json!({ "name": "x", "scopes": ["read"], "expires_at": until }), "expires_at"),
        (json!({ "name": "x", "scopes": [] }), "scopes"),
        (json!({ "name": "x", "scopes": ["root"] }), "scopes"),
        (json!({ "scopes": ["read"] }), "name"),
        (json!({ "name": "x" }), "scopes"),
        (json!({ "name": "x", "scopes": ["read"], "key": "mine" }), "key"),
    ] {
        let refused = world.keys(Method::POST, &world.api_key, "").json(&body).send().await.refused(422, "body_invalid");
        assert!(refused["fields"].get(field).is_some(), "{field}: {refused}");
    }
}

#[tokio::test]
async fn a_key_never_makes_a_stronger_one() {
    let world = World::new().await;
    let until = "2026-05-22T10:15:00.000+00:00";
    let office = json!({ "name": "Office", "scopes": ["admin"], "allowed_networks": ["203.0.113.0/24"], "expires_at": until });
    let office = world.make_key(&world.api_key, office).await;
    let with = |method: Method, path: &str, body: Value| world.keys(method, text(&office), path).from("203.0.113.9").json(&body).send();
    let desk = json!({ "name": "Desk", "scopes": ["admin"], "allowed_networks": ["203.0.113.9"], "expires_at": until });
    let desk = with(Method::POST, "", desk).await.ok(201)["api_key"].take();
    let (own, weaker) = (format!("/{}", id(&office)), format!("/{}", id(&desk)));
    let networks = json!(["203.0.113.9"]);

    for stronger in [
        json!({ "name": "x", "scopes": ["read"], "expires_at": until }),
        json!({ "name": "x", "scopes": ["read"], "expires_at": until, "allowed_networks": ["203.0.0.0/16"] }),
        json!({ "name": "x", "scopes": ["read"], "expires_at": until, "allowed_networks": ["203.0.113.9", "9.9.9.9"] }),
        json!({ "name": "x", "scopes": ["read"], "allowed_networks": networks }),
        json!({ "name": "x", "scopes": ["read"], "allowed_networks": networks, "expires_at": "2026-05-22T10:15:00.001+00:00" }),
    ] {
        with(Method::POST, "", stronger).await.refused(403, "api_key_too_strong");
    }
    for path in [&own, &weaker] {
        for stronger in [json!({ "allowed_networks": [] }), json!({ "allowed_networks": ["9.9.9.9"] }), json!({ "expires_at": null })] {
            with(Method::PUT, path, stronger).await.refused(403, "api_key_too_strong");
        }
    }
    // A stronger key can be renamed and weakened, but not replaced by one that the caller would see.
    let stronger: uuid::Uuid = sqlx::query_scalar("select id from api_keys where name = 'test'").fetch_one(&world.pool).await.unwrap();
    with(Method::POST, &format!("/{stronger}/roll"), json!({})).await.refused(403, "api_key_too_strong");
    with(Method::PUT, &format!("/{stronger}"), json!({ "name": "Renamed" })).await.ok(200);
    with(Method::POST, &format!("{own}/roll"), json!({})).await.ok(201);
    with(Method::PUT, &weaker, json!({ "scopes": ["read"] })).await.ok(200);
    assert_eq!(world.count("select count(*) from api_keys").await, 4);
}

#[tokio::test]
async fn a_key_that_was_rolled_leaves_nothing_behind_that_outlives_it() {
    let world = World::new().await;
    let leaked = world.make_key(&world.api_key, json!({ "name": "Leaked", "scopes": ["admin"] })).await;
    let path = format!("/{}", id(&leaked));
    let roll = json!({ "overlap": 60 });
    world.keys(Method::POST, &world.api_key, &format!("{path}/roll")).json(&roll).send().await.ok(201);
    let with = |method: Method, path: &str, body: Value| world.keys(method, text(&leaked), path).json(&body).send();

    let (within, behind) = ("2026-05-21T10:16:00.000+00:00", "2026-05-21T10:16:00.001+00:00");
    for end in [json!(null), json!(behind)] {
        let key = json!({ "name": "x", "scopes": ["admin"], "expires_at": end });
        with(Method::POST, "", key).await.refused(403, "api_key_too_strong");
    }
    let short = with(Method::POST, "", json!({ "name": "x", "scopes": ["admin"], "expires_at": within })).await.ok(201)["api_key"].take();
    let short_path = format!("/{}", id(&short));
    for end in [json!(null), json!(behind)] {
        with(Method::PUT, &short_path, json!({ "expires_at": end })).await.refused(403, "api_key_too_strong");
    }
    // It cannot roll itself again either, whatever expiry it sets for itself.
    with(Method::POST, &format!("{path}/roll"), roll.clone()).await.refused(403, "api_key_too_strong");
    with(Method::PUT, &path, json!({ "expires_at": behind })).await.ok(200);
    with(Method::POST, &format!("{path}/roll"), roll.clone()).await.refused(403, "api_key_too_strong");
    with(Method::POST, &format!("{short_path}/roll"), roll).await.ok(201);
    world.pass(TimeDelta::seconds(60));
    let live = "select count(*) from api_keys where expires_at is null and revoked_at is null and name <> 'test'";
    assert_eq!(world.count(live).await, 1, "only the newest key is live");
    for key in [&leaked, &short] {
        assert_eq!(world.use_key(text(key), "203.0.113.9").await, 401);
    }
}

#[tokio::test]
async fn the_last_use_is_written_down_every_few_minutes_at_most() {
    let world = World::new().await;
    let made = world.make_key(&world.api_key, json!({ "name": "Reports", "scopes": ["read"] })).await;
    assert_eq!(made["last_used_at"], json!(null));
    let path = format!("/{}", id(&made));
    let noted = async |at: &str| {
        // Recorded asynchronously, so it is visible soon but not at once.
        until("the use is recorded", async || {
            world.keys(Method::GET, &world.api_key, &path).send().await.ok(200)["api_key"]["last_used_at"] == at
        })
        .await;
    };
    assert_eq!(world.use_key(text(&made), "203.0.113.9").await, 200);
    noted("2026-05-21T10:15:00.000+00:00").await;
    world.pass(TimeDelta::minutes(4));
    assert_eq!(world.use_key(text(&made), "203.0.113.9").await, 200);
    world.pass(TimeDelta::minutes(1));
    assert_eq!(world.use_key(text(&made), "203.0.113.9").await, 200);
    noted("2026-05-21T10:20:00.000+00:00").await;
    let seen = world.keys(Method::GET, &world.api_key, &path).send().await;
    assert_eq!(seen.header("etag"), Some("\"1\""), "using a key does not change its version");
}

#[tokio::test]
async fn an_operator_rolls_a_key_by_hand() {
    let world = World::new().await;
    let database = [("database.url", world.database.as_str())];
    let old = world.make_key(&world.api_key, json!({ "name": "Reports", "scopes": ["read"], "expires_at": "2100-01-01T00:00:00Z" })).await;
    // The command uses the system clock.
    let printed = printed(&["key", "roll", id(&old), "--overlap", "1h", "--json"], &database).await;
    let new = serde_json::from_str::<Value>(&printed).unwrap()["key"].take();
    assert_eq!((&new["replaces"], &new["scopes"], &new["name"]), (&old["id"], &json!(["read"]), &json!("Reports")));
    assert_eq!((world.use_key(text(&old), "9.9.9.9").await, world.use_key(text(&new), "9.9.9.9").await), (200, 200));
    let ends = "select revoked_at between now() + interval '55 minutes' and now() + interval '65 minutes' from api_keys where id = $1";
    assert!(sqlx::query_scalar::<_, bool>(ends).bind(uuid(&old)).fetch_one(&world.pool).await.unwrap());
    for (key, overlap, reason) in [
        ("key_01h455vb4pex5vsknk084sn02q", "1h", "there is no API key"),
        (new["id"].as_str().unwrap(), "31d", "The overlap may be at most 2592000 seconds."),
    ] {
        let said = refused(&["key", "roll", key, "--overlap", overlap], &database).await;
        assert!(said.contains(reason), "{said}");
    }
    world.keys(Method::DELETE, &world.api_key, &format!("/{}", id(&old))).send().await.ok(200);
    let said = refused(&["key", "roll", id(&old)], &database).await;
    assert!(said.contains("there is no API key"), "{said}");
}
