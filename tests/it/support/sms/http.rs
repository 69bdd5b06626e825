//! A mock of an SMS provider that is defined by settings alone.

use serde_json::json;
use wiremock::matchers::{header, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

/// Starts a provider that responds to every text with `answer`; returns its settings too, except `sms.providers`.
pub async fn provider(answer: ResponseTemplate) -> (MockServer, Vec<(&'static str, String)>) {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v1/texts"))
        .and(header("authorization", "Bearer s3cret"))
        .and(header("content-type", "application/json"))
        .respond_with(answer)
        .mount(&server)
        .await;
    let settings = vec![
        ("sms.http.url", format!("{}/v1/texts", server.uri())),
        ("sms.http.headers", "Authorization: Bearer s3cret".to_owned()),
        ("sms.http.body", r#"{"recipient":"{to}","sender":"{from}","message":"{text}"}"#.to_owned()),
        ("sms.http.from", "Acme".to_owned()),
        ("sms.http.unreachable.statuses", "400".to_owned()),
        ("sms.http.unreachable.pointer", "/error/code".to_owned()),
        ("sms.http.unreachable.values", "landline,blocked".to_owned()),
    ];
    (server, settings)
}

/// The response to a text that was queued.
pub fn accepted() -> ResponseTemplate {
    ResponseTemplate::new(202).set_body_json(json!({ "id": "1" }))
}

/// The response to a text that was refused.
pub fn refused(status: u16, code: &str) -> ResponseTemplate {
    ResponseTemplate::new(status).set_body_json(json!({ "error": { "code": code } }))
}
