//! The steps of `docs/extensions.md`: its table, its code, its events and its routes.
//!
//! The page adds lines to lists of the program. Here, the id is that of fleets instead.

mod depots;

use std::path::Path;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use portico::app::AppState;
use portico::events::EventType;
use portico::kernel::client_address::TrustedProxies;
use portico::kernel::middleware::{self, Surroundings};
use portico::kernel::request_body::BodyLimits;
use portico::resources::Extension;
use portico::{callers, events, fields, fleet, resources, storefront, text_enum};
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;
use tower::ServiceExt;

use crate::support::World;
use crate::support::fleet::id;
use crate::support::page::block;

mod kernel {
    pub use portico::kernel::problem;
    pub mod ids {
        pub use portico::kernel::ids::FleetId as DepotId;
    }
}

const PAGE: &str = include_str!("../../../../docs/extensions.md");

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

#[test]
fn the_page_names_the_files_that_a_resource_touches() {
    let files: Vec<_> = PAGE.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())).collect();
    let is_new = |line: &&&str| line.contains("` (new): ");
    assert_eq!((files.len(), files.iter().filter(is_new).count()), (7, 2));
    assert!(PAGE.contains("Seven files are touched, two of them new:"));
    for line in files.iter().filter(|line| !is_new(line)) {
        let path = line.split('`').nth(1).unwrap();
        assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join(path).is_file(), "{path}");
    }
}

#[tokio::test]
async fn the_page_adds_a_resource_from_the_table_to_the_routes() {
    let world = World::new().await;
    sqlx::raw_sql(AssertSqlSafe(block(PAGE, "sql"))).execute(&world.pool).await.unwrap();
    let extension = Extension::<AppState>::new("fleet").editable::<depots::Depot>();
    let event_types = extension.event_types().to_vec();
    let router = Router::new().nest(&extension.path(), extension.router()).with_state(world.state.clone());
    let surroundings = Surroundings {
        trusted_proxies: TrustedProxies::default(),
        clock: world.clock.clone(),
        traces: world.state.traces.clone(),
        metrics: world.state.requests.clone(),
        access_log: true,
        body_limits: BodyLimits::default(),
        customers_below: storefront::PATH,
        stopping: world.state.lifecycle.stopping().clone(),
    };
    let router = middleware::layer(router, surroundings);
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
    its_events_have_the_documented_form(&depots.world, &event_types).await;
}

/// Asserts that the events that were published have the form that follows from the fields.
async fn its_events_have_the_documented_form(world: &World, event_types: &[EventType]) {
    let published: Vec<(String, Vec<u8>)> =
        sqlx::query_as("select name, body from events order by created_at, id").fetch_all(&world.pool).await.unwrap();
    for (name, body) in &published {
        let event_type = event_types.iter().find(|event_type| event_type.name.as_str() == name).unwrap();
        event_type.check(&serde_json::from_slice::<Value>(body).unwrap()["data"]).unwrap();
    }
    assert_eq!(published.len(), event_types.len());
    for event_type in event_types {
        event_type.check(&Value::Object(event_type.sample.clone())).unwrap();
        assert_eq!((&event_type.sample["name"], &event_type.sample["status"]), (&json!("Harbour"), &json!("open")));
        assert_eq!(event_type.data_schema["properties"]["closed_at"]["description"], "When the depot was closed.");
    }
    // The catalogue of this world does not have them.
    sqlx::raw_sql("delete from outbox; delete from events").execute(&world.pool).await.unwrap();
}
