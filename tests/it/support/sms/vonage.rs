//! A mock of the Vonage-compatible provider that responds as its documentation says.

use serde_json::json;
use wiremock::matchers::{body_string_contains, header, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

pub const KEY: &str = "abcd1234";
pub const SECRET: &str = "s3cret-s3cret";

/// Starts a provider that responds to every text with `answer`; returns its settings too, except `sms.providers`.
pub async fn provider(answer: ResponseTemplate) -> (MockServer, Vec<(&'static str, String)>) {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/sms/json"))
        .and(header("content-type", "application/x-www-form-urlencoded"))
        .and(body_string_contains(format!("api_key={KEY}&api_secret={SECRET}&")))
        .respond_with(answer)
        .mount(&server)
        .await;
    let settings = vec![
        ("sms.vonage.base_url", server.uri()),
        ("sms.vonage.api_key", KEY.to_owned()),
        ("sms.vonage.api_secret", SECRET.to_owned()),
        ("sms.vonage.from", "Acme".to_owned()),
    ];
    (server, settings)
}

/// The response to a text that was queued.
pub fn accepted() -> ResponseTemplate {
    let message = json!({
        "to": "12015550123", "message-id": "0A0000000123ABCD1", "status": "0", "remaining-balance": "3.14", "message-price": "0.03",
        "network": "12345",
    });
    ResponseTemplate::new(200).set_body_json(json!({ "message-count": "1", "messages": [message] }))
}

/// The response to a text that was refused with one of the documented error codes; its HTTP status is 200.
pub fn refused(code: u32) -> ResponseTemplate {
    let message = json!({ "status": code.to_string(), "error-text": "refused" });
    ResponseTemplate::new(200).set_body_json(json!({ "message-count": "1", "messages": [message] }))
}
