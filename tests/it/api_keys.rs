//! API keys: decisions, section 2. Every route below `…/int/v1` refuses requests without a key or without the scope it requires.

use std::fs;
use std::path::Path;

use portico::companies::Scope;
use reqwest::Method;

use crate::support::World;

/// The operations that a kind of record supports.
#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    /// Read only.
    Log,
    /// Read and update.
    Changeable,
    /// Read, create and update, but not delete.
    Recorded,
    /// All operations.
    Editable,
}
use Kind::{Changeable, Editable, Log, Recorded};

/// Every kind of record, by namespace and path.
pub const RESOURCES: &[(&str, &str, Kind)] = &[
    ("fleet", "orders", Editable),
    ("fleet", "drivers", Editable),
    ("fleet", "vehicles", Editable),
    ("fleet", "fleets", Editable),
    ("fleet", "issues", Editable),
    ("fleet", "proofs", Editable),
    ("fleet", "tracking-numbers", Changeable),
    ("fleet", "tracking-statuses", Recorded),
    ("developers", "webhooks", Editable),
    ("developers", "deliveries", Log),
    ("developers", "events", Log),
    ("developers", "api-keys", Editable),
    ("ledger", "gateways", Editable),
    ("ledger", "callbacks", Log),
    ("ledger", "payments", Log),
    ("developers", "replays", Log),
    ("storefront", "stores", Editable),
    ("storefront", "customers", Log),
    ("storefront", "tokens", Log),
    ("storefront", "texts", Log),
    ("storefront", "sign-ins", Log),
    ("inventory", "warehouses", Editable),
    ("inventory", "stock-items", Editable),
    ("support", "tickets", Editable),
];

/// Every route besides the five conventional ones.
pub const BESIDE: &[(Method, &str, &str)] = &[
    (Method::POST, "developers", "/events"),
    (Method::GET, "developers", "/events/stream"),
    (Method::GET, "developers", "/event-types"),
    (Method::GET, "developers", "/event-types/{name}"),
    (Method::POST, "developers", "/webhooks/{uuid}/enable"),
    (Method::POST, "developers", "/webhooks/{uuid}/disable"),
    (Method::GET, "developers", "/webhooks/{uuid}/secret"),
    (Method::POST, "developers", "/webhooks/{uuid}/rotate-secret"),
    (Method::POST, "developers", "/webhooks/{uuid}/test"),
    (Method::POST, "developers", "/api-keys/{uuid}/roll"),
    (Method::POST, "ledger", "/gateways/{uuid}/test"),
    (Method::POST, "ledger", "/callbacks/{uuid}/process"),
    (Method::POST, "developers", "/webhooks/{uuid}/replay"),
    (Method::POST, "developers", "/deliveries/{uuid}/replay"),
    (Method::POST, "developers", "/deliveries/{uuid}/cancel"),
    (Method::POST, "developers", "/events/{uuid}/replay"),
    (Method::POST, "fleet", "/drivers/{uuid}/track"),
    (Method::POST, "fleet", "/drivers/track"),
    (Method::POST, "fleet", "/vehicles/{uuid}/track"),
    (Method::POST, "fleet", "/vehicles/track"),
    (Method::GET, "storefront", "/texts/conversion"),
    (Method::DELETE, "storefront", "/tokens/{uuid}"),
    (Method::POST, "storefront", "/customers/{uuid}/revoke-tokens"),
];

/// The route that payment gateways call with a key; it has a scope of its own.
const CALLBACKS: &str = "/webhooks";

/// An id without a record.
pub const NOBODY: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

/// All routes, with `id` in place of the record id.
pub fn all_routes(id: &str) -> Vec<(Method, String)> {
    let mut routes = Vec::new();
    for (namespace, plural, kind) in RESOURCES {
        let (many, one) = (format!("/{namespace}/int/v1/{plural}"), format!("/{namespace}/int/v1/{plural}/{id}"));
        routes.extend([(Method::GET, many.clone()), (Method::GET, one.clone())]);
        if matches!(kind, Recorded | Editable) {
            routes.push((Method::POST, many));
        }
        if *kind != Log {
            routes.push((Method::PUT, one.clone()));
        }
        if *kind == Editable {
            routes.push((Method::DELETE, one));
        }
    }
    routes.extend(
        BESIDE.iter().map(|(method, namespace, path)| (method.clone(), format!("/{namespace}/int/v1{}", path.replace("{uuid}", id)))),
    );
    routes
}

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
        if method != Method::GET {
            request().key(&reader).send().await.refused(403, "scope_missing");
        }
        let needs_admin = path.contains("/api-keys") || path.contains("/gateways") || path == "/developers/int/v1/events";
        if method == Method::GET || needs_admin {
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
    let src = root.join("src");
    let mut files = vec![];
    for room in ["fleet", "gateways", "developers", "webhooks", "storefront/resources"] {
        crate::layers::sources(&src.join(room), &mut files);
    }
    let (mut resources, mut beside) = (0, 0);
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for plural in text.split("const PLURAL: &'static str = \"").skip(1).map(|rest| rest.split('"').next().unwrap().replace('_', "-")) {
            assert!(RESOURCES.iter().any(|(_, listed, _)| *listed == plural), "{plural} of {} stands in no table", file.display());
            resources += 1;
        }
        for path in text.split(".beside").skip(1).map(|rest| rest.split('"').nth(1).unwrap()) {
            assert!(BESIDE.iter().any(|(_, _, listed)| *listed == path), "{path} of {} stands in no table", file.display());
            beside += 1;
        }
    }
    for file in fs::read_dir(root.join("config/extensions")).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        let headings = text.lines().filter_map(|line| line.strip_prefix("[resources.")?.strip_suffix(']')).filter(|key| !key.contains('.'));
        for plural in headings {
            assert!(RESOURCES.iter().any(|(_, listed, _)| *listed == plural), "{plural} stands in no table");
            resources += 1;
        }
    }
    assert_eq!((resources, beside), (RESOURCES.len(), BESIDE.len()));
}

#[tokio::test]
async fn one_key_is_revoked_without_the_others() {
    let world = World::new().await;
    let other = world.key_of(world.company, &[Scope::Read]).await;
    let id: uuid::Uuid = sqlx::query_scalar("select id from api_keys where name = 'another'").fetch_one(&world.pool).await.unwrap();
    let now = world.clock.now();
    let mut conn = world.pool.acquire().await.unwrap();
    assert!(portico::companies::revoke_api_key(&mut conn, id.into(), now).await.unwrap());
    assert!(!portico::companies::revoke_api_key(&mut conn, id.into(), now).await.unwrap());
    world.request(Method::GET, "/fleet/int/v1/orders").key(&other).send().await.refused(401, "api_key_invalid");
    world.api(Method::GET, "/fleet/int/v1/orders").send().await.ok(200);

    let id: uuid::Uuid = sqlx::query_scalar("select id from store_keys").fetch_one(&world.pool).await.unwrap();
    assert!(portico::storefront::revoke_store_key(&mut conn, id.into(), now).await.unwrap());
    world.storefront_get("customers/me").send().await.refused(401, "store_key_invalid");
}
