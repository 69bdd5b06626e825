//! Checks every response of every story against `GET /openapi.json`: its status, its problem code and, on the storefront, its body.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, OnceLock};

use aws_lc_rs::digest::{SHA256, digest};
use jsonschema::Validator;
use reqwest::{Client, Method, Url};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::OnceCell;

use crate::support::Answer;

/// Errors that every route can return and that the document does not list.
const ANYWHERE: &[&str] =
    &["bad_request", "request_timeout", "body_too_large", "address_too_long", "internal_error", "overloaded", "database_unavailable"];

/// Parts of the paths that the document describes.
const DESCRIBED: &[&str] = &["/storefront/v1/", "/int/v1/", "/webhooks", "/socket/"];

/// The document of the first deployment that was asked.
static FIRST: OnceCell<Arc<Document>> = OnceCell::const_new();

thread_local! {
    /// The documents of the story's own deployments, by their addresses. They are forgotten with the thread of the story: the addresses of worlds
    /// that have ended are given to others.
    static OWN: RefCell<HashMap<String, Arc<Document>>> = RefCell::default();
}

/// Checks that the document describes the response. Deployments differ in their providers and so in their routes: what the first
/// document does not say is looked up in the deployment's own one. A route that this one lacks as well is not described at all.
pub async fn check(client: &Client, method: &Method, url: &Url, answer: &Answer) {
    if !DESCRIBED.iter().any(|part| url.path().contains(part)) {
        return;
    }
    let judged_by = |document: &Document| document.judge(method, url, answer);
    if matches!(judged_by(FIRST.get_or_init(|| read(client, url)).await), Some(Ok(()))) {
        return;
    }
    let known = OWN.with_borrow(|own| own.get(url.authority()).cloned());
    // One that says something else is asked for again: it may be that of an earlier world of the story.
    if let Some(None | Some(Ok(()))) = known.as_deref().map(judged_by) {
        return;
    }
    let own = read(client, url).await;
    OWN.with_borrow_mut(|all| all.insert(url.authority().to_owned(), Arc::clone(&own)));
    if let Some(judged) = judged_by(&own) {
        judged.unwrap();
    }
}

/// The document of a deployment. Most are equal, and those are taken apart once.
async fn read(client: &Client, url: &Url) -> Arc<Document> {
    static READ: Mutex<BTreeMap<Vec<u8>, Arc<Document>>> = Mutex::new(BTreeMap::new());
    let text = client.get(url.join("/openapi.json").unwrap()).send().await.unwrap().bytes().await.unwrap();
    let mut read = READ.lock().unwrap();
    let document = read.entry(digest(&SHA256, &text).as_ref().to_vec());
    Arc::clone(document.or_insert_with(|| Arc::new(serde_json::from_slice::<Written>(&text).unwrap().into())))
}

/// A document as it is written, of which only the responses are read.
#[derive(Deserialize)]
struct Written {
    /// The operations of each path, by their methods.
    paths: BTreeMap<String, Operations>,
    components: Components,
}

#[derive(Deserialize)]
struct Components {
    schemas: Schemas,
}

#[derive(Deserialize)]
struct Schemas {
    /// The one that storefront schemas refer to.
    customer: Value,
}

type Operations = HashMap<String, Operation>;

#[derive(Deserialize)]
struct Operation {
    /// By their status.
    responses: HashMap<String, Response>,
}

#[derive(Deserialize)]
struct Response {
    #[serde(default)]
    description: String,
    #[serde(default)]
    content: Content,
    /// The validators of a body and of one with a flat login, compiled on first use.
    #[serde(skip)]
    forms: [OnceLock<Validator>; 2],
}

#[derive(Default, Deserialize)]
struct Content {
    #[serde(rename = "application/json", default)]
    json: Media,
}

#[derive(Default, Deserialize)]
struct Media {
    #[serde(default)]
    schema: Value,
}

/// What a document says of responses.
struct Document {
    /// The segments of each path, in an order in which a word comes before a placeholder.
    routes: Vec<(Vec<String>, Operations)>,
    /// The closed schema of a customer.
    customer: Value,
}

impl From<Written> for Document {
    fn from(Written { paths, components }: Written) -> Self {
        let routes = paths.into_iter().map(|(path, operations)| (path.split('/').map(str::to_owned).collect(), operations));
        Self { routes: routes.collect(), customer: closed(&components.schemas.customer) }
    }
}

impl Document {
    fn operation(&self, method: &Method, path: &str) -> Option<&Operation> {
        let requested: Vec<_> = path.split('/').collect();
        let is_at = |documented: &[String]| {
            documented.len() == requested.len()
                && documented.iter().zip(&requested).all(|(documented, requested)| documented == requested || documented.starts_with('{'))
        };
        let (_, operations) = self.routes.iter().find(|(documented, _)| is_at(documented))?;
        operations.get(&method.as_str().to_lowercase())
    }

    /// Whether the response is as the document says, or what it does not say of it; `None` if it does not describe the route.
    fn judge(&self, method: &Method, url: &Url, answer: &Answer) -> Option<Result<(), String>> {
        let response = self.operation(method, url.path())?.responses.get(&answer.status.to_string());
        Some(self.compare(response, method, url, answer))
    }

    fn compare(&self, response: Option<&Response>, method: &Method, url: &Url, answer: &Answer) -> Result<(), String> {
        if answer.status >= 400 {
            let code = answer.body["code"].as_str().unwrap();
            let is_documented = response.is_some_and(|response| response.description.contains(&format!("`{code}`: ")));
            let is_said = is_documented || ANYWHERE.contains(&code);
            return if is_said { Ok(()) } else { Err(format!("{code} is not documented for {method} {url}")) };
        }
        let Some(response) = response else { return Err(format!("{method} {url} is not said to answer {}", answer.status)) };
        if !url.path().starts_with("/storefront/v1/") || response.form(answer, &self.customer).is_valid(&answer.body) {
            Ok(())
        } else {
            Err(format!("{method} {url} answers in another form than it is said to: {}", answer.body))
        }
    }
}

impl Response {
    fn form(&self, answer: &Answer, customer: &Value) -> &Validator {
        // A flat login response contains the customer's fields next to the token.
        let is_flat = answer.body["token"].is_string() && answer.body["id"].is_string();
        self.forms[usize::from(is_flat)].get_or_init(|| {
            let mut schema = closed(&self.content.json.schema);
            schema["components"] = json!({ "schemas": { "customer": customer } });
            schema["unevaluatedProperties"] = is_flat.into();
            jsonschema::draft202012::new(&schema).unwrap()
        })
    }
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
