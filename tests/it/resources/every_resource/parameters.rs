//! Query parameters.

use reqwest::Method;
use serde_json::json;

use crate::resources::every_resource::{of_every_resource, of_every_resource_in};
use crate::support::World;
use crate::support::fleet::id;
use crate::support::routes::{NOBODY, all_routes};

#[tokio::test]
async fn an_unknown_parameter_is_refused_by_name() {
    of_every_resource(|resource| {
        Box::pin(async move {
            resource.record().await;
            for (parameters, name) in [
                ("?nonsense=1", "nonsense"),
                ("?company_id=1", "company_id"),
                ("?limit=0", "limit"),
                ("?sort=id", "sort"),
                ("?after=x", "after"),
            ] {
                let refusal = resource.ask(Method::GET, parameters, None).await.refused(422, "parameter_invalid");
                assert_eq!(refusal["parameter"], name);
            }
            let list = resource.ask(Method::GET, "?limit=1&sort=created_at", None).await.ok(200);
            assert_eq!((list[resource.plural.replace('-', "_")].as_array().unwrap().len(), &list["meta"]["per_page"]), (1, &json!(1)));
        })
    })
    .await;
}

#[tokio::test]
async fn every_list_is_followed_and_narrowed_by_changes() {
    of_every_resource(|resource| {
        Box::pin(async move {
            let record = resource.record().await;
            for parameters in ["follow=true", "follow=true&sort=updated_at", "updated_after=2000-01-01T00:00:00Z"] {
                let page = resource.ask(Method::GET, &format!("?limit=100&{parameters}"), None).await.ok(200);
                let listed = page[resource.plural.replace('-', "_")].as_array().unwrap();
                assert!(listed.iter().any(|listed| listed["id"] == record["id"]), "{parameters}");
                if parameters.starts_with("follow") {
                    let next = page["meta"]["next"].as_str().expect("there is always a next page");
                    let further = resource.ask(Method::GET, &format!("?{parameters}&after={next}"), None).await.ok(200);
                    assert!(further["meta"]["next"].is_string(), "{parameters}");
                }
            }
            let list = resource.ask(Method::GET, "?updated_before=2000-01-01T00:00:00Z", None).await.ok(200);
            assert_eq!(list[resource.plural.replace('-', "_")], json!([]));
        })
    })
    .await;
}

#[tokio::test]
async fn routes_that_take_no_parameters_refuse_them_by_name() {
    let world = World::new().await;
    for (method, path) in all_routes(NOBODY) {
        let ask = |key: &str, query: &str| world.request(method.clone(), &format!("{path}?{query}")).key(key).json(&json!({})).send();
        for (query, name) in [("nonsense=1", "nonsense"), ("Limit=5", "Limit"), ("=1", ""), ("a%26b", "a&b")] {
            assert_eq!(ask(&world.api_key, query).await.refused(422, "parameter_invalid")["parameter"], name, "{method} {path}");
        }
        ask("key_", "nonsense=1").await.refused(401, "api_key_invalid");
    }
    of_every_resource_in(world, |resource| {
        Box::pin(async move {
            let record = resource.record().await;
            let path = format!("/{}/{}", resource.name(), id(&record));
            let before = resource.world.api(Method::GET, &path).send().await;
            for method in resource.of_one() {
                let request = resource.world.api(method, &format!("{path}?nonsense=1")).json(&resource.change(1));
                request.send().await.refused(422, "parameter_invalid");
            }
            let after = resource.world.api(Method::GET, &path).send().await;
            assert_eq!((after.header("etag"), &after.body), (before.header("etag"), &before.body));
        })
    })
    .await;
}
