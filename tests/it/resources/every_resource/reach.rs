//! Access to records, and the routes that exist.

use portico::callers::Scope;
use reqwest::Method;
use serde_json::json;

use crate::resources::every_resource::of_every_resource;
use crate::support::fleet::id;
use crate::support::routes::{Kind, OTHER_ROUTES};

#[tokio::test]
async fn a_record_of_another_company_is_not_there() {
    of_every_resource(|resource| {
        Box::pin(async move {
            let record = resource.record().await;
            let (_, key) = resource.world.another_company(&Scope::ALL).await;
            let ask = |method: Method, rest: String| {
                let path = format!("/{}/int/v1/{}{rest}", resource.namespace, resource.plural);
                resource.world.request(method, &path).key(&key).json(&json!({})).send()
            };
            for method in resource.of_one() {
                for form in ["id", "uuid"] {
                    ask(method.clone(), format!("/{}", record[form].as_str().unwrap())).await.refused(404, "record_not_found");
                }
            }
            let list = ask(Method::GET, String::new()).await.ok(200);
            let theirs = list[resource.plural.replace('-', "_")].as_array().unwrap();
            // The caller's own API key is a record too, and its creation is a change.
            assert_eq!(theirs.len(), usize::from(["api-keys", "changes"].contains(&resource.plural)));
            assert!(theirs.iter().all(|theirs| theirs["id"] != record["id"]));
            let mine = resource.ask(Method::GET, &format!("/{}", id(&record)), None).await.ok(200);
            assert_eq!(mine.as_object().unwrap().values().next().unwrap()["id"], record["id"]);
        })
    })
    .await;
}

#[tokio::test]
async fn a_deleted_record_is_gone_from_every_route() {
    of_every_resource(|resource| {
        Box::pin(async move {
            if resource.kind != Kind::Editable {
                return;
            }
            let record = resource.record().await;
            let rest = format!("/{}", id(&record));
            resource.ask(Method::DELETE, &rest, None).await.ok(200);
            for method in resource.of_one() {
                resource.ask(method, &rest, Some(&json!({}))).await.refused(404, "record_not_found");
            }
            for (method, _, path) in OTHER_ROUTES.iter().filter(|(_, namespace, _)| *namespace == resource.namespace) {
                let Some(route) = path.strip_prefix(&format!("/{}/{{uuid}}", resource.plural)) else { continue };
                let body = match route {
                    "/test" if resource.plural == "message-providers" => json!({ "to": "+12015550123" }),
                    "/track" => json!({ "latitude": 1.3, "longitude": 103.8 }),
                    "/replay" => json!({ "since": resource.world.clock.now() }),
                    _ => json!({}),
                };
                resource.ask(method.clone(), &format!("{rest}{route}"), Some(&body)).await.refused(404, "record_not_found");
            }
            let list = resource.ask(Method::GET, "?limit=100", None).await.ok(200);
            let list = list[resource.plural.replace('-', "_")].as_array().unwrap().clone();
            assert!(list.iter().all(|listed| listed["id"] != record["id"]));
        })
    })
    .await;
}

#[tokio::test]
async fn what_a_resource_does_not_offer_is_not_allowed() {
    of_every_resource(|resource| {
        Box::pin(async move {
            let record = resource.record().await;
            let rest = format!("/{}", id(&record));
            for method in [Method::PUT, Method::DELETE, Method::PATCH] {
                if !resource.of_one().contains(&method) && !resource.has_other_route(&method, "/{uuid}") {
                    resource.ask(method, &rest, Some(&json!({}))).await.refused(405, "method_not_allowed");
                }
            }
            if !resource.creates() && !resource.has_other_route(&Method::POST, "") {
                resource.ask(Method::POST, "", Some(&json!({}))).await.refused(405, "method_not_allowed");
            }
        })
    })
    .await;
}
