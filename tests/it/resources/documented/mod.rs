//! The steps of `docs/extensions.md`: its table, its code, its events and its routes.
//!
//! The page adds lines to lists of the program. Here, the id and the event names are those of fleets instead.

mod depots;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use portico::app::AppState;
use portico::kernel::client_address::TrustedProxies;
use portico::kernel::middleware;
use portico::resources::Extension;
use portico::{fields, fleet, resources, text_enum};
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;
use tower::ServiceExt;

use crate::support::World;
use crate::support::fleet::id;
use crate::support::page::block;

mod events {
    pub use portico::events::EventName;
    pub mod names {
        pub use portico::events::names::{FLEET_CREATED as DEPOT_CREATED, FLEET_DELETED as DEPOT_DELETED, FLEET_UPDATED as DEPOT_UPDATED};
    }
}

mod kernel {
    pub use portico::kernel::problem;
    pub mod ids {
        pub use portico::kernel::ids::{FleetId as DepotId, FleetId};
    }
}

const PAGE: &str = include_str!("../../../../docs/extensions.md");
const COMMON: &str = include_str!("../../../../src/events/catalogue/documents/common.json");

/// The routes of the page.
struct Depots {
    world: World,
    router: Router,
}

impl Depots {
    /// Sends a request; returns its status, its `ETag` and its body.
    async fn send(&self, method: &str, path: &str, if_match: &str, body: Value) -> (u16, String, Value) {
        let request = Request::builder().method(method).uri(format!("/fleet/int/v1/depots{path}"));
        let request = request.header("authorization", format!("Bearer {}", self.world.api_key)).header("content-type", "application/json");
        let request = request.header("if-match", if_match).body(Body::from(body.to_string())).unwrap();
        let answer = self.router.clone().oneshot(request).await.unwrap();
        let tag = answer.headers().get("etag").map_or("", |tag| tag.to_str().unwrap()).to_owned();
        let status = answer.status().as_u16();
        (status, tag, serde_json::from_slice(&to_bytes(answer.into_body(), usize::MAX).await.unwrap()).unwrap())
    }

    async fn listed(&self, query: &str) -> usize {
        self.send("GET", query, "*", json!({})).await.2["depots"].as_array().unwrap().len()
    }
}

#[test]
fn the_page_shows_the_code_that_is_tested() {
    let shown: String = block(PAGE, "rust").lines().filter(|line| !line.starts_with("# ")).map(|line| format!("{line}\n")).collect();
    let tested = include_str!("depots.rs").split_once("\n\n").unwrap().1;
    assert_eq!(shown.replace("crate::", "super::"), tested);
}

#[tokio::test]
async fn the_page_adds_a_resource_from_the_table_to_the_routes() {
    let world = World::new().await;
    sqlx::raw_sql(AssertSqlSafe(block(PAGE, "sql"))).execute(&world.pool).await.unwrap();
    let extension = Extension::<AppState>::new("fleet").editable::<depots::Depot>();
    let router = Router::new().nest(&extension.path(), extension.into_router()).with_state(world.state.clone());
    let router = middleware::layer(router, TrustedProxies::default());
    let north = world.create("fleets", json!({ "name": "North" })).await;
    sqlx::raw_sql("delete from outbox; delete from events").execute(&world.pool).await.unwrap();
    let depots = Depots { world, router };

    let harbour = json!({ "name": "Harbour", "fleet": id(&north), "latitude": 53.54, "longitude": 9.98 });
    let (status, first, made) = depots.send("POST", "", "*", harbour).await;
    assert_eq!((status, &made["depot"]["status"], &made["depot"]["closed_at"]), (201, &json!("open"), &json!(null)));
    let one = format!("/{}", id(&made["depot"]));
    let (status, _, refusal) = depots.send("POST", "", "*", json!({ "name": "Nowhere", "latitude": 53.54 })).await;
    assert_eq!((status, refusal["fields"]["longitude"].is_array()), (422, true));

    let (status, _, closed) = depots.send("PUT", &one, &first, json!({ "status": "closed" })).await;
    assert_eq!((status, &closed["depot"]["closed_at"]), (200, &json!("2026-05-21T10:15:00.000+00:00")));
    assert_eq!(depots.send("PUT", &one, &first, json!({ "status": "open" })).await.0, 412);
    for (query, number) in [
        ("?status=closed", 1),
        ("?status=open", 0),
        (&*format!("?fleet={}", id(&north)), 1),
        (&*format!("?fleet={}", id(&made["depot"])), 0),
        ("?query=harb", 1),
        ("?query=north", 0),
    ] {
        assert_eq!(depots.listed(query).await, number, "{query}");
    }
    assert_eq!(depots.send("DELETE", &one, "*", json!({})).await.0, 200);
    assert_eq!(depots.listed("").await, 0);
    its_events_have_the_documented_form(&depots.world).await;
}

/// Asserts that the page's schema describes its sample and the events that were published.
async fn its_events_have_the_documented_form(world: &World) {
    let document = block(PAGE, "json").replace("common.json#", "#").replace("depot_", "fleet_");
    let document: Value = serde_json::from_str(&document).unwrap();
    let mut schema = document["data"].clone();
    schema["required"] = schema["properties"].as_object().unwrap().keys().cloned().collect();
    schema["additionalProperties"] = json!(false);
    schema["$defs"] = serde_json::from_str::<Value>(COMMON).unwrap()["$defs"].take();
    jsonschema::draft202012::validate(&schema, &document["sample"]).unwrap();
    let published: Vec<(String, Vec<u8>)> =
        sqlx::query_as("select name, body from events order by created_at, id").fetch_all(&world.pool).await.unwrap();
    for (name, body) in &published {
        let body: Value = serde_json::from_slice(body).unwrap();
        jsonschema::draft202012::validate(&schema, &body["data"]).unwrap();
        assert!(document["events"].get(name.replace("fleet.", "depot.")).is_some(), "{name}");
    }
    assert_eq!(published.len(), document["events"].as_object().unwrap().len());
    // They bear the names of a fleet's events, whose form every story checks at its end.
    sqlx::raw_sql("delete from outbox; delete from events").execute(&world.pool).await.unwrap();
}
