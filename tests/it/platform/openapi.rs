//! `GET /openapi.json`: the routes as their code describes them. Every story checks that responses match the document.

use std::collections::BTreeSet;

use portico::config::Config;
use reqwest::Method;
use serde_json::{Value, json};

use crate::resources::every_resource::of_every_resource;
use crate::storefront::tokens::{OPEN, PUBLIC, SIGNED_IN};
use crate::support::World;
use crate::support::customers::{EMAIL, token};
use crate::support::fleet::id;
use crate::support::routes::{Kind, all_routes};

async fn document(world: &World) -> Value {
    world.request(Method::GET, "/openapi.json").send().await.ok(200)
}

/// The routes in the document, as `GET /fleet/int/v1/orders/{uuid}`.
pub fn documented_routes(document: &Value) -> BTreeSet<String> {
    let paths = document["paths"].as_object().unwrap().iter();
    let routes =
        paths.flat_map(|(path, item)| item.as_object().unwrap().keys().map(move |method| format!("{} {path}", method.to_uppercase())));
    routes.collect()
}

#[tokio::test]
async fn the_document_has_exactly_the_routes_that_are_served() {
    let world = World::new().await;
    // The tables in `api_keys.rs` and `tokens.rs` contain every route; tests there verify that each is served.
    let mut served: BTreeSet<_> = all_routes("{uuid}").into_iter().map(|(method, path)| format!("{method} {path}")).collect();
    served.extend(["POST /socket/authorize", "POST /webhooks", "POST /webhooks/{gateway}"].map(str::to_owned));
    served.extend(SIGNED_IN.iter().chain(OPEN).chain(PUBLIC).map(|(method, path)| format!("{method} /storefront/v1/{path}")));
    served.extend(["GET", "POST"].map(|method| format!("{method} /storefront/receipts/{{provider}}/{{token}}")));
    assert_eq!(documented_routes(&document(&world).await), served);
}

/// The paths of a router, taken from its debug output, and the methods of each, taken from the `Allow` header of an error.
async fn mounted(world: &World, changes: &[(&str, &str)]) -> BTreeSet<String> {
    let router = format!("{:?}", portico::app::router(world.state.clone(), &Config::with(changes).unwrap()));
    let is_api = |text: &&str| {
        text.contains("/int/v1/")
            || ["/storefront/v1/", "/storefront/receipts/", "/socket/", "/webhooks"].iter().any(|base| text.starts_with(base))
    };
    let paths: BTreeSet<_> = router.split('"').filter(is_api).collect();
    let mut mounted = BTreeSet::new();
    for path in paths {
        let refusal = world.request(Method::PATCH, path).key(&world.store_key).send().await;
        let methods = refusal.header("allow").unwrap().split(',').filter(|method| *method != "HEAD");
        mounted.extend(methods.map(|method| format!("{method} {path}")));
        refusal.refused(405, "method_not_allowed");
    }
    mounted
}

#[tokio::test]
async fn every_mounted_route_is_documented() {
    let names = [
        ("providers.idp_a.name", "acme-id"),
        ("providers.idp_b.name", "beta"),
        ("providers.idp_c.name", "gamma"),
        ("providers.card.name", "acme"),
    ];
    for changes in [&[][..], &names] {
        let world = World::with(changes).await;
        assert_eq!(mounted(&world, changes).await, documented_routes(&document(&world).await));
    }
}

#[tokio::test]
async fn the_document_has_a_provider_under_its_own_name_too() {
    let names = [("providers.idp_a.name", "acme-id"), ("providers.idp_c.name", "gamma"), ("providers.card.name", "acme")];
    let world = World::with(&names).await;
    let document = document(&world).await;
    let body = |path: &str| &document["paths"][format!("/storefront/v1/customers/{path}")]["post"]["requestBody"];
    for (path, member) in [("login-with-idp-a", "idpAUserId"), ("login-with-acme-id", "acmeIdUserId")] {
        let members = body(path)["content"]["application/json"]["schema"]["properties"].as_object().unwrap();
        let names: BTreeSet<_> = members.keys().map(String::as_str).collect();
        assert_eq!(names, ["identityToken", "authorizationCode", member, "nonce", "name"].into());
    }
    for (path, member) in [("login-with-idp-c", "idpCUserId"), ("login-with-gamma", "gammaUserId")] {
        let schema = &body(path)["content"]["application/json"]["schema"];
        let names: BTreeSet<_> = schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!((names, &schema["required"]), ([member, "accessToken", "email", "idToken", "name", "nonce"].into(), &json!(null)));
    }
    assert_eq!(body("card-ephemeral-key"), body("acme-ephemeral-key"));
}

#[tokio::test]
async fn documented_tokens_and_required_fields_match_the_storefront_routes() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    let document = document(&world).await;
    for (method, path) in SIGNED_IN.iter().chain(OPEN) {
        let operation = &document["paths"][format!("/storefront/v1/{path}")][method.as_str().to_lowercase()];
        let takes_token = operation["security"][0]["customer_token"].is_array();
        assert_eq!(takes_token, SIGNED_IN.iter().any(|(signed_in, at)| (signed_in, at) == (method, path)), "{method} {path}");
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        let needed: Vec<_> = schema["required"].as_array().into_iter().flatten().map(|name| name.as_str().unwrap()).collect();
        // Nobody offers these providers, whatever the body says.
        if path.contains("idp") || path.contains("{provider}") || needed.is_empty() {
            continue;
        }
        let refusal = world.request(method.clone(), &format!("/storefront/v1/{path}")).key(&world.store_key).token(&ada).json(&json!({}));
        let refusal = refusal.send().await.refused(422, "body_invalid");
        let missing: Vec<_> = refusal["fields"].as_object().unwrap().keys().collect();
        assert!(missing.iter().any(|name| needed.contains(&name.as_str())), "{method} {path}: {missing:?}");
    }
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
        // Without its own security, an operation takes an API key.
        let takes_api_key = operation["security"].is_null();
        assert!(operation["responses"]["401"].is_object() || operation["security"] == json!([]), "{operation}");
        assert!(operation["responses"]["403"].is_object() || !takes_api_key, "{operation}");
        assert!(operation["operationId"].as_str().is_none_or(|name| names.insert(name.to_owned())), "{operation}");
    }
}

/// The schemas of a kind of record and of its request bodies.
fn schemas(document: &Value, namespace: &str, plural: &str) -> (Value, Value) {
    let path = format!("/{namespace}/int/v1/{plural}/{{uuid}}");
    let answer = &document["paths"][&path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]["properties"];
    let name = answer.as_object().unwrap().values().next().unwrap()["$ref"].as_str().unwrap().rsplit('/').next().unwrap();
    let schemas = &document["components"]["schemas"];
    (schemas[name].clone(), schemas[format!("{name}.body")].clone())
}

#[tokio::test]
async fn the_documented_fields_of_every_record_are_its_actual_fields() {
    of_every_resource(|resource| {
        Box::pin(async move {
            let (schema, taken) = schemas(resource.document().await, resource.namespace, resource.plural);
            let record = resource.record().await;
            let path = format!("/{}/{}", resource.name(), id(&record));
            let shown = resource.world.api(Method::GET, &path).send().await.ok(200);
            let shown = shown.as_object().unwrap().values().next().unwrap();
            let members = schema["properties"].as_object().unwrap();
            let declared: BTreeSet<_> = members.iter().filter(|(_, form)| form["writeOnly"] != true).map(|(name, _)| name).collect();
            let missing: Vec<_> = shown.as_object().unwrap().keys().filter(|name| !declared.contains(name)).collect();
            assert!(missing.is_empty(), "{missing:?}");
            // Only declared fields may be missing from a record.
            let left_out: Vec<_> = declared.into_iter().filter(|name| shown.get(name).is_none()).collect();
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
