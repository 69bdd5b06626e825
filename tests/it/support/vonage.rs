//! A stand-in for the Vonage-compatible provider, answering as its documentation says.

use serde_json::json;
use wiremock::matchers::{body_string_contains, header, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

const KEY: &str = "abcd1234";
const SECRET: &str = "s3cret-s3cret";

/// Starts a provider that gives every text this answer; with the settings that lead to it, all but `sms.providers`.
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

/// A text was queued.
pub fn accepted() -> ResponseTemplate {
    let message = json!({
        "to": "12015550123", "message-id": "0A0000000123ABCD1", "status": "0", "remaining-balance": "3.14", "message-price": "0.03",
        "network": "12345",
    });
    ResponseTemplate::new(200).set_body_json(json!({ "message-count": "1", "messages": [message] }))
}

/// A text was refused with one of the documented error codes, which come with status 200.
pub fn refused(code: u32) -> ResponseTemplate {
    let message = json!({ "status": code.to_string(), "error-text": "refused" });
    ResponseTemplate::new(200).set_body_json(json!({ "message-count": "1", "messages": [message] }))
}
