//! The API in this process, as an operator uses it.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tower::ServiceExt;

use crate::callers::Caller;
use crate::kernel::client_address::ClientAddress;
use crate::kernel::error_chain::chain;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::request_id::RequestId;

/// The longest answer that a page is made of, in bytes. A page of a list has at most a hundred records.
const MAX_ANSWER: usize = 64 * 1024 * 1024;

/// The routes of the API, called without a network.
#[derive(Clone, Debug)]
pub struct Api(Router);

/// A successful response.
#[derive(Debug)]
pub struct Answer {
    /// The body.
    pub body: Value,
    /// The version of the record, as a change of it must name it.
    pub version: Option<String>,
}

impl Api {
    /// Calls the routes of `router`, which must be those that clients with an API key reach, with their state.
    pub fn new(router: Router) -> Self {
        Self(router)
    }

    /// `GET path`
    pub async fn get(&self, caller: &Caller, path: &str) -> Result<Answer, Problem> {
        self.call(caller, Method::GET, path, None, None).await
    }

    /// `GET path`, read as `T`.
    pub async fn read<T: DeserializeOwned>(&self, caller: &Caller, path: &str) -> Result<T, Problem> {
        let answer = self.get(caller, path).await?;
        serde_json::from_value(answer.body).map_err(|error| {
            tracing::error!(error = chain(&error), path, "the console does not understand an answer of the API");
            ProblemCode::Internal.into()
        })
    }

    /// `POST path`
    pub async fn post(&self, caller: &Caller, path: &str, body: &Value) -> Result<Answer, Problem> {
        self.call(caller, Method::POST, path, Some(body), None).await
    }

    /// `PUT path`, if the record still has this version.
    pub async fn put(&self, caller: &Caller, path: &str, body: &Value, version: Option<&str>) -> Result<Answer, Problem> {
        self.call(caller, Method::PUT, path, Some(body), version).await
    }

    /// `DELETE path`
    pub async fn delete(&self, caller: &Caller, path: &str) -> Result<Answer, Problem> {
        self.call(caller, Method::DELETE, path, None, None).await
    }

    async fn call(
        &self,
        caller: &Caller,
        method: Method,
        path: &str,
        body: Option<&Value>,
        version: Option<&str>,
    ) -> Result<Answer, Problem> {
        let mut request = Request::builder().method(method).uri(path);
        if let Some(version) = version {
            request = request.header(header::IF_MATCH, version);
        }
        let body = match body {
            Some(body) => {
                request = request.header(header::CONTENT_TYPE, "application/json");
                Body::from(body.to_string())
            }
            None => Body::empty(),
        };
        // A path with characters that no URI has leads nowhere.
        let mut request = request.body(body).map_err(|_| Problem::new(ProblemCode::RecordNotFound))?;
        request.extensions_mut().insert(caller.clone());
        self.send(request, caller.request).await
    }

    /// `POST path` of the storefront, as an app does it: with the key of a store, and nobody signed in. `page` is the request of the page.
    pub async fn post_as_app(
        &self,
        page: Option<RequestId>,
        store_key: &SecretString,
        path: &str,
        body: &Value,
    ) -> Result<Answer, Problem> {
        let request = Request::post(path).header(header::CONTENT_TYPE, "application/json");
        let request = request.header(header::AUTHORIZATION, format!("Bearer {}", store_key.expose_secret()));
        // A key with characters that no header has is none.
        let request = request.body(Body::from(body.to_string())).map_err(|_| Problem::new(ProblemCode::StoreKeyInvalid))?;
        self.send(request, page).await
    }

    async fn send(&self, mut request: Request<Body>, page: Option<RequestId>) -> Result<Answer, Problem> {
        if let Some(id) = page {
            request.extensions_mut().insert(id);
        }
        request.extensions_mut().insert(ClientAddress::of_this_process());
        let Ok(response) = self.0.clone().oneshot(request).await;
        let (mut parts, body) = response.into_parts();
        if !parts.status.is_success() {
            return Err(parts.extensions.remove::<Problem>().unwrap_or_else(|| refused(parts.status)));
        }
        let bytes = to_bytes(body, MAX_ANSWER).await.map_err(|_| Problem::new(ProblemCode::Internal))?;
        let body = if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes).map_err(|_| ProblemCode::Internal)? };
        Ok(Answer { body, version: entity_tag(&parts.headers) })
    }
}

fn refused(status: StatusCode) -> Problem {
    Problem::new(ProblemCode::of_status(status))
}

fn entity_tag(headers: &HeaderMap) -> Option<String> {
    Some(headers.get(header::ETAG)?.to_str().ok()?.to_owned())
}
