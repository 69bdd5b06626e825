//! Invalid request bodies.

use reqwest::Method;
use serde_json::Value;

use crate::resources::every_resource::{Resource, of_every_resource};
use crate::support::World;
use crate::support::fleet::id;
use crate::support::routes::{Kind, NOBODY, OTHER_ROUTES};

/// The record with its `ETag`, the ids in the list, and the number of events.
async fn state(resource: &Resource<'_>, one: &str) -> (Option<String>, Value, Vec<String>, i64) {
    let record = resource.ask(Method::GET, one, None).await;
    let list = resource.ask(Method::GET, "", None).await.ok(200);
    let list = list[resource.plural.replace('-', "_")].as_array().unwrap().iter().map(|record| id(record).to_owned()).collect();
    let events = resource.world.count("select count(*) from events").await;
    (record.header("etag").map(str::to_owned), record.ok(200), list, events)
}

#[tokio::test]
async fn a_bad_body_is_a_problem_and_changes_nothing() {
    of_every_resource(|resource| {
        Box::pin(async move {
            let record = resource.record().await;
            let one = format!("/{}", id(&record));
            let before = state(resource, &one).await;
            let mut routes = Vec::new();
            if resource.creates() {
                routes.push((Method::POST, ""));
            }
            if resource.kind != Kind::Log {
                routes.push((Method::PUT, one.as_str()));
            }
            for (method, rest) in routes {
                let path = format!("/{}{rest}", resource.name());
                let send = |body: &'static str| {
                    resource.world.api(method.clone(), &path).header("content-type", "application/json").body(body).send()
                };
                for (body, status, code) in [
                    ("{", 400, "json_invalid"),
                    ("{}{}", 400, "json_invalid"),
                    ("[]", 422, "body_invalid"),
                    ("null", 422, "body_invalid"),
                    (r#"{"nonsense":1}"#, 422, "body_invalid"),
                    (r#"{"id":"another","version":7}"#, 422, "body_invalid"),
                    (r#"{"company_id":"another"}"#, 422, "body_invalid"),
                    (r#"{"meta":{"a":"\u0000"}}"#, 422, "body_invalid"),
                ] {
                    send(body).await.refused(status, code);
                }
                let form = resource.world.api(method.clone(), &path).header("content-type", "text/plain").body("{}");
                form.send().await.refused(415, "media_type_unsupported");
            }
            assert_eq!(state(resource, &one).await, before);
        })
    })
    .await;
}

#[tokio::test]
async fn routes_that_need_nothing_said_refuse_what_they_do_not_know() {
    let world = World::new().await;
    // What takes a form or lines has stories of its own: `tests/it/storefront/introspection.rs` and `moving_in.rs`.
    let takes_json = |path: &str| !["/tokens/introspect", "/customers/import"].contains(&path);
    for (_, namespace, path) in OTHER_ROUTES.iter().filter(|(method, _, path)| *method == Method::POST && takes_json(path)) {
        let path = format!("/{namespace}/int/v1{}", path.replace("{uuid}", NOBODY));
        let send = |kind: &'static str, body: &'static str| world.api(Method::POST, &path).header("content-type", kind).body(body).send();
        for (body, status, code) in [("{", 400, "json_invalid"), (r#"{"nonsense":1}"#, 422, "body_invalid"), ("null", 422, "body_invalid")]
        {
            send("application/json", body).await.refused(status, code);
        }
        send("text/plain", "{}").await.refused(415, "media_type_unsupported");
        assert_ne!(send("application/x-www-form-urlencoded", "").await.status, 415);
    }
}
