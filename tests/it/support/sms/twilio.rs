//! A mock of the Twilio-compatible provider that responds as its documentation says.

use serde_json::json;
use url::form_urlencoded;
use wiremock::matchers::{basic_auth, header, method, path};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

pub const ACCOUNT: &str = "AC0123456789abcdef0123456789abcdef";
pub const TOKEN: &str = "12345678";

/// Starts a provider that responds to every text with `answer`; returns its settings too.
pub async fn provider(answer: impl Respond + 'static) -> (MockServer, Vec<(&'static str, String)>) {
    let server = MockServer::start().await;
    change(&server, answer).await;
    let settings = vec![
        ("sms.providers", "twilio".to_owned()),
        ("sms.twilio.base_url", server.uri()),
        ("sms.twilio.account_sid", ACCOUNT.to_owned()),
        ("sms.twilio.auth_token", TOKEN.to_owned()),
        ("sms.twilio.from", "+15005550006".to_owned()),
    ];
    (server, settings)
}

/// Replaces the response to every text.
pub async fn change(server: &MockServer, answer: impl Respond + 'static) {
    server.reset().await;
    Mock::given(method("POST"))
        .and(path(format!("/2010-04-01/Accounts/{ACCOUNT}/Messages.json")))
        .and(basic_auth(ACCOUNT, TOKEN))
        .and(header("content-type", "application/x-www-form-urlencoded"))
        .respond_with(answer)
        .mount(server)
        .await;
}

/// The response to a text that was queued.
pub fn accepted() -> ResponseTemplate {
    ResponseTemplate::new(201).set_body_json(json!({ "sid": "SM0123456789abcdef0123456789abcdef", "status": "queued", "error_code": null }))
}

/// What [`Naming`] calls a text to this number.
pub fn sid(number: &str) -> String {
    format!("SM{:0>32}", number.trim_start_matches('+'))
}

/// Queues every text, and calls it after its number.
pub struct Naming;

impl Respond for Naming {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let to = form_urlencoded::parse(&request.body).find(|(key, _)| key == "To").map(|(_, value)| value.into_owned()).unwrap();
        ResponseTemplate::new(201).set_body_json(json!({ "sid": sid(&to), "status": "queued", "error_code": null }))
    }
}

/// The response to a text that was refused with one of the documented error codes.
pub fn refused(status: u16, code: u32) -> ResponseTemplate {
    let body = json!({ "code": code, "message": "refused", "more_info": format!("errors/{code}"), "status": status });
    ResponseTemplate::new(status).set_body_json(body)
}
