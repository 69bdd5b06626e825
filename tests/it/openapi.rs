//! `GET /openapi.json`: the extension routes, as their code tells of them.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::{Value, json};

use crate::api_keys::{Kind, all_routes};
use crate::every_resource::of_every_resource;
use crate::support::World;
use crate::support::fleet::id;

async fn document(world: &World) -> Value {
    world.request(Method::GET, "/openapi.json").send().await.ok(200)
}

/// The routes the document tells of, as `GET /fleet/int/v1/orders/{uuid}`.
fn told(document: &Value) -> BTreeSet<String> {
    let paths = document["paths"].as_object().unwrap().iter();
    let routes =
        paths.flat_map(|(path, item)| item.as_object().unwrap().keys().map(move |method| format!("{} {path}", method.to_uppercase())));
    routes.collect()
}

#[tokio::test]
async fn the_document_tells_of_the_routes_that_are_served_and_of_no_others() {
    let world = World::new().await;
    // The table of `api_keys.rs` holds every route: its own story tells that each is served and that none is forgotten.
    let served: BTreeSet<_> = all_routes("{uuid}").into_iter().map(|(method, path)| format!("{method} {path}")).collect();
    assert_eq!(told(&document(&world).await), served);
}

#[tokio::test]
async fn every_reference_leads_somewhere_and_every_operation_has_its_refusals() {
    let world = World::new().await;
    let document = document(&world).await;
    assert_eq!(document["openapi"], "3.1.0");
    let text = document.to_string();
    for reference in text.split("\"$ref\":\"#").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        assert!(document.pointer(reference).is_some(), "{reference}");
    }
    let mut names = BTreeSet::new();
    for operation in document["paths"].as_object().unwrap().values().flat_map(|item| item.as_object().unwrap().values()) {
        assert!(operation["summary"].as_str().unwrap().ends_with('.'), "{operation}");
        assert!(operation["responses"]["401"].is_object() && operation["responses"]["403"].is_object(), "{operation}");
        assert!(operation["operationId"].as_str().is_none_or(|name| names.insert(name.to_owned())), "{operation}");
    }
}

/// The form of records of a kind, and of the bodies it takes.
fn schemas(document: &Value, namespace: &str, plural: &str) -> (Value, Value) {
    let path = format!("/{namespace}/int/v1/{plural}/{{uuid}}");
    let answer = &document["paths"][&path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]["properties"];
    let name = answer.as_object().unwrap().values().next().unwrap()["$ref"].as_str().unwrap().rsplit('/').next().unwrap();
    let schemas = &document["components"]["schemas"];
    (schemas[name].clone(), schemas[format!("{name}.body")].clone())
}

#[tokio::test]
async fn what_is_told_of_every_record_is_what_is_shown_of_it() {
    of_every_resource(|resource| {
        Box::pin(async move {
            let document = document(resource.world).await;
            let (schema, taken) = schemas(&document, resource.namespace, resource.plural);
            let record = resource.record().await;
            let path = format!("/{}/{}", resource.name(), id(&record));
            let shown = resource.world.api(Method::GET, &path).send().await.ok(200);
            let shown = shown.as_object().unwrap().values().next().unwrap();
            let members = schema["properties"].as_object().unwrap();
            let told: BTreeSet<_> = members.iter().filter(|(_, form)| form["writeOnly"] != true).map(|(name, _)| name).collect();
            let missing: Vec<_> = shown.as_object().unwrap().keys().filter(|name| !told.contains(name)).collect();
            assert!(missing.is_empty(), "{missing:?}");
            // Only what a file declares may be left out of a record.
            let left_out: Vec<_> = told.into_iter().filter(|name| shown.get(name).is_none()).collect();
            assert!(left_out.is_empty() || ["inventory", "support"].contains(&resource.namespace), "{left_out:?}");
            assert!(jsonschema::draft202012::new(&schema).unwrap().is_valid(shown), "{shown}");
            if resource.kind != Kind::Log {
                let taken = jsonschema::draft202012::new(&taken).unwrap();
                assert!(!taken.is_valid(&json!({ "nonsense": 1 })) && taken.is_valid(&json!({})));
                if let Some(example) = resource.example().await {
                    assert!(taken.is_valid(&example), "{example}");
                }
            }
        })
    })
    .await;
}
