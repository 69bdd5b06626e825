//! Checks every response of every story against `GET /openapi.json`: its status, its problem code and, on the storefront, its body.

use reqwest::{Client, Method, Url};
use serde_json::{Map, Value, json};
use tokio::sync::OnceCell;

use crate::support::Answer;

/// Errors that every route can return and that the document does not list.
const ANYWHERE: &[&str] =
    &["bad_request", "request_timeout", "body_too_large", "address_too_long", "internal_error", "overloaded", "database_unavailable"];

/// Parts of the paths that the document describes.
const DESCRIBED: &[&str] = &["/storefront/v1/", "/int/v1/", "/webhooks", "/socket/"];

/// The document of the first deployment that was asked.
static DOCUMENT: OnceCell<Value> = OnceCell::const_new();

/// Checks that the document describes the response. Deployments differ in their providers and so in their routes: what the first
/// document does not say is looked up in the deployment's own one. A route that this one lacks as well is not described at all.
pub async fn check(client: &Client, method: &Method, url: &Url, answer: &Answer) {
    if !DESCRIBED.iter().any(|part| url.path().contains(part)) {
        return;
    }
    let fetch = async || {
        let text = client.get(url.join("/openapi.json").unwrap()).send().await.unwrap().text().await.unwrap();
        serde_json::from_str(&text).unwrap()
    };
    if judge(DOCUMENT.get_or_init(fetch).await, method, url, answer).is_ok() {
        return;
    }
    let own = fetch().await;
    if operation(&own, method, url.path()).is_some() {
        judge(&own, method, url, answer).unwrap();
    }
}

/// What the document does not say of the response.
fn judge(document: &Value, method: &Method, url: &Url, answer: &Answer) -> Result<(), String> {
    let Some(operation) = operation(document, method, url.path()) else { return Err(format!("{method} {url} is not described")) };
    let response = &operation["responses"][answer.status.to_string()];
    if answer.status >= 400 {
        let code = answer.body["code"].as_str().unwrap();
        let is_documented = response["description"].as_str().is_some_and(|sentences| sentences.contains(&format!("`{code}`: ")));
        let is_said = is_documented || ANYWHERE.contains(&code);
        return if is_said { Ok(()) } else { Err(format!("{code} is not documented for {method} {url}")) };
    }
    if !response.is_object() {
        return Err(format!("{method} {url} is not said to answer {}", answer.status));
    }
    if !url.path().starts_with("/storefront/v1/") {
        return Ok(());
    }
    let mut schema = closed(&response["content"]["application/json"]["schema"]);
    schema["components"] = json!({ "schemas": { "customer": closed(&document["components"]["schemas"]["customer"]) } });
    // A flat login response contains the customer's fields next to the token.
    schema["unevaluatedProperties"] = (answer.body["token"].is_string() && answer.body["id"].is_string()).into();
    let form = jsonschema::draft202012::new(&schema).unwrap();
    if form.is_valid(&answer.body) {
        Ok(())
    } else {
        Err(format!("{method} {url} answers in another form than it is said to: {}", answer.body))
    }
}

fn operation<'a>(document: &'a Value, method: &Method, path: &str) -> Option<&'a Value> {
    let paths = document["paths"].as_object().unwrap();
    let is_at = |documented: &str| {
        let (documented, requested) = (documented.split('/'), path.split('/'));
        documented.clone().count() == requested.clone().count()
            && documented.zip(requested).all(|(documented, requested)| documented == requested || documented.starts_with('{'))
    };
    let item = paths.get(path).or_else(|| paths.iter().find(|(documented, _)| is_at(documented)).map(|(_, item)| item))?;
    item.get(method.as_str().to_lowercase())
}

/// The same schema, closed to fields that it does not define.
fn closed(schema: &Value) -> Value {
    match schema {
        Value::Array(schemas) => schemas.iter().map(closed).collect(),
        Value::Object(members) => {
            let mut members: Map<_, _> = members.iter().map(|(name, schema)| (name.clone(), closed(schema))).collect();
            if members.contains_key("properties") {
                members.insert("unevaluatedProperties".to_owned(), false.into());
            }
            members.into()
        }
        other => other.clone(),
    }
}
