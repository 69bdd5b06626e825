//! Requests.

use axum::http::HeaderMap;
use serde_json::Value;

use crate::support::{Answer, openapi_check};

/// A client that follows no redirects. The service speaks plain HTTP, so it does without the system's authorities, which take long to read.
pub fn client() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().tls_certs_only([]).redirect(reqwest::redirect::Policy::none()).build().unwrap()
}

/// A request that is being built.
#[must_use]
pub struct Request {
    inner: reqwest::RequestBuilder,
    /// Each header is sent once, with the last value set.
    headers: HeaderMap,
}

impl Request {
    pub fn new(inner: reqwest::RequestBuilder) -> Self {
        Self { inner, headers: HeaderMap::new() }
    }

    /// Sets the address of the client.
    pub fn from(self, address: &str) -> Self {
        self.header("x-forwarded-for", address)
    }

    /// Sets the store key or API key.
    pub fn key(self, key: &str) -> Self {
        self.header("authorization", &format!("Bearer {key}"))
    }

    /// Sets the customer's token.
    pub fn token(self, token: &str) -> Self {
        self.header("customer-token", token)
    }

    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.insert(name, value.parse().unwrap());
        self
    }

    /// Sets a JSON body.
    pub fn json(mut self, body: &Value) -> Self {
        self.inner = self.inner.body(body.to_string());
        self.header("content-type", "application/json")
    }

    /// Sets a body of any bytes.
    pub fn body(mut self, body: impl Into<reqwest::Body>) -> Self {
        self.inner = self.inner.body(body);
        self
    }

    pub async fn send(self) -> Answer {
        let (client, request) = self.inner.headers(self.headers).build_split();
        let request = request.unwrap();
        let (method, url) = (request.method().clone(), request.url().clone());
        let answer = Answer::read(client.execute(request).await.unwrap()).await;
        openapi_check::check(&client, &method, &url, &answer).await;
        answer
    }
}
