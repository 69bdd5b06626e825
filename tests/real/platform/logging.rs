//! The log of a running service: a line for each request, and even at level debug no credentials and no personal data.

use std::collections::HashSet;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::collector::{Collector, named};
use crate::support::customers::{EMAIL, PASSWORD, PHONE, token};
use crate::support::program::Service;
use crate::support::sms::twilio;
use crate::support::smtp::{SmtpSink, code_in};
use crate::support::waiting::until;

/// The code in the last text that the provider received.
async fn texted_code(provider: &wiremock::MockServer) -> String {
    let requests = provider.received_requests().await.unwrap();
    let form = url::form_urlencoded::parse(&requests.last().unwrap().body);
    let body = form.into_iter().find(|(name, _)| name == "Body").unwrap().1.into_owned();
    code_in(&format!("\n\n{body}"))
}

#[tokio::test]
async fn without_a_mail_server_the_log_says_that_a_mail_was_not_sent() {
    let world = World::new().await;
    let service = Service::start(&[("database.url", world.database.as_str())]).await;
    let request = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = request.post(format!("http://{}/storefront/v1/customers/request-creation-code", service.address));
    let body = json!({ "mode": "email", "identity": EMAIL }).to_string();
    request.bearer_auth(&world.store_key).body(body).send().await.unwrap();
    let warning = "a mail was not sent, because mail.smtp_url names no mail server";
    until("the log says it", async || service.log().contains(warning)).await;
}

#[tokio::test]
async fn the_log_contains_no_credentials_and_no_personal_data() {
    let world = World::new().await;
    let mails = SmtpSink::start(false).await;
    let (provider, mut settings) = twilio::provider(twilio::accepted()).await;
    settings.extend([("database.url", world.database.clone()), ("mail.smtp_url", mails.url()), ("log.filter", "debug".to_owned())]);
    let settings: Vec<_> = settings.iter().map(|(key, value)| (*key, value.as_str())).collect();
    let mut service = Service::start(&settings).await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let send = async |method: Method, path: &str, token: &str, body: Value| {
        let request = http.request(method, format!("http://{}/storefront/v1/customers{path}", service.address));
        let request = request.bearer_auth(&world.store_key).header("customer-token", token).body(body.to_string());
        request.send().await.unwrap().json::<Value>().await.unwrap()
    };
    let post = async |path: &str, body: Value| send(Method::POST, path, "", body).await;
    let mut secrets = vec![world.store_key.clone(), PASSWORD.to_owned(), "wrong password".to_owned()];
    let mut codes = Vec::new();
    let secret_of = |login: &Value| token(login).split_once('|').unwrap().1.to_owned();

    // A registration by mail, sign-ins by password and by code, a wrong password, an invalid number, and the verification of a number.
    post("/request-creation-code", json!({ "mode": "email", "identity": EMAIL })).await;
    let code = code_in(&mails.mails()[0]);
    let ada = post("", json!({ "name": "Ada Byron", "identity": EMAIL, "code": code, "password": PASSWORD })).await;
    codes.push(code);
    secrets.push(secret_of(&ada));
    secrets.push(secret_of(&post("/login", json!({ "identity": EMAIL, "password": PASSWORD })).await));
    post("/login", json!({ "identity": EMAIL, "password": "wrong password" })).await;
    post("/login-with-sms", json!({ "identity": EMAIL })).await;
    let code = code_in(&mails.mails()[1]);
    secrets.push(secret_of(&post("/verify-code", json!({ "identity": EMAIL, "code": code })).await));
    codes.push(code);
    post("/request-creation-code", json!({ "mode": "sms", "identity": "hello" })).await;
    send(Method::POST, "/request-phone-verification", &token(&ada), json!({ "phone": PHONE })).await;
    let code = texted_code(&provider).await;
    let proven = send(Method::POST, "/verify-phone-number", &token(&ada), json!({ "code": code })).await;
    assert_eq!(proven["customer"]["phone"], PHONE);
    codes.push(code);
    let me = send(Method::GET, "/me", &token(&ada), json!({})).await;
    assert_eq!(me["email"], EMAIL);

    assert!(service.terminate().await);
    let log = service.log();
    assert!(log.contains("request completed"), "the log has no requests: {log}");
    let personal = [EMAIL, PHONE, &PHONE[1..], "Ada Byron"];
    for secret in secrets.iter().map(String::as_str).chain(personal) {
        let line = log.lines().find(|line| line.contains(secret));
        assert_eq!(line, None, "{secret:?} is in the log");
    }
    // Six digits may be part of an id or a timestamp, so only whole words are compared.
    let words: HashSet<_> = log.split(|character: char| !character.is_ascii_alphanumeric()).collect();
    for code in codes {
        assert!(!words.contains(code.as_str()), "{code} is in the log");
    }
}

/// The lines of the access log.
fn access_lines(service: &Service) -> Vec<Value> {
    let log = service.log();
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["message"] == "request completed").collect()
}

#[tokio::test]
async fn every_request_has_a_line_with_its_route_its_status_its_duration_and_the_id_of_its_key() {
    let world = World::new().await;
    let collector = Collector::start().await;
    let settings = [("database.url", world.database.as_str()), ("log.format", "json"), ("traces.endpoint", &collector.url())];
    let mut service = Service::start(&settings).await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let ask = async |path: &str, key: &str| {
        let answer = http.get(format!("http://{}{path}", service.address)).bearer_auth(key).send().await.unwrap();
        answer.headers()["x-request-id"].to_str().unwrap().to_owned()
    };
    let order = "order_01h455vb4pex5vsknk084sn02q";
    let id = ask("/fleet/int/v1/orders?query=ada@example.com", &world.api_key).await;
    ask(&format!("/fleet/int/v1/orders/{order}"), &world.api_key).await;
    ask("/storefront/v1/customers/me", &world.store_key).await;
    ask("/ada@example.com", "").await;
    ask("/healthz", "").await;
    until("the lines are written", async || access_lines(&service).len() >= 4).await;

    let lines = access_lines(&service);
    let [asked, missing, stranger, unknown] = &lines[..] else { panic!("four lines: {lines:#?}") };
    assert_eq!((&asked["level"], &asked["status"]), (&json!("INFO"), &json!(200)));
    assert!(asked["duration_ms"].as_f64().unwrap() > 0.0 && asked["key"].as_str().unwrap().starts_with("key_"), "{asked}");
    assert_eq!((&asked["span"]["method"], &asked["span"]["route"]), (&json!("GET"), &json!("/fleet/int/v1/orders")));
    assert_eq!((&asked["span"]["id"], &asked["span"]["trace_id"]), (&json!(id), &json!(id)), "it began the trace");
    assert_eq!((&missing["status"], &missing["span"]["route"]), (&json!(404), &json!("/fleet/int/v1/orders/{uuid}")));
    assert_eq!((&stranger["status"], &stranger["span"]["route"]), (&json!(401), &json!("/storefront/v1/customers/me")));
    assert_ne!(stranger["key"], asked["key"]);
    assert_eq!((unknown["status"].clone(), unknown.get("key"), unknown["span"].get("route")), (json!(404), None, None));
    assert!(!service.log().contains("ada@example.com") && !service.log().contains(order));

    assert!(service.terminate().await);
    let spans = collector.spans().await;
    assert_eq!(named(&spans, "GET /storefront/v1/customers/me").len(), 1, "what was recorded last is sent at the end");
}

#[tokio::test]
async fn the_access_log_can_be_turned_off() {
    let world = World::new().await;
    let settings = [("database.url", world.database.as_str()), ("log.format", "json"), ("log.access", "false")];
    let mut service = Service::start(&settings).await;
    reqwest::get(format!("http://{}/problems", service.address)).await.unwrap();
    assert!(service.terminate().await);
    assert_eq!(access_lines(&service), Vec::<Value>::new());
}
