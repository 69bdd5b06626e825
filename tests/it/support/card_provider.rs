//! A mock of a card provider that follows its documentation.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use portico::callers::Caller;
use portico::gateways::{Gateway, GatewayBody, SecretKey, drivers};
use portico::kernel::ids::{CompanyId, GatewayId};
use portico::resources::operations;
use serde_json::{Value, json};
use url::form_urlencoded;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use crate::support::World;

/// The secret key of the only account.
pub const SECRET_KEY: &str = "sk_test_4eC39HqLyjWDarjtT1zdp7dc";
/// How long the provider usually takes to respond.
const WORK: Duration = Duration::from_millis(300);

/// The mock of the provider.
pub struct CardProvider {
    server: MockServer,
    desk: Arc<Mutex<Desk>>,
}

#[derive(Default)]
struct Desk {
    /// The time from a request to its response.
    work: Duration,
    /// Responses that replace the regular ones, used in order.
    instead: VecDeque<ResponseTemplate>,
    customers: HashMap<String, Form>,
    /// Events that no endpoint has taken, newest first.
    undelivered: Vec<Value>,
    /// Responses to requests for events behind the first page, used in order.
    instead_of_pages: VecDeque<ResponseTemplate>,
    /// By idempotency key: the request, its response, and from when on the response is available.
    answered: HashMap<String, (Form, Value, Instant)>,
}

type Form = Vec<(String, String)>;

impl CardProvider {
    pub async fn start() -> Self {
        let desk = Desk { work: WORK, ..Desk::default() };
        let (server, desk) = (MockServer::start().await, Arc::new(Mutex::new(desk)));
        Mock::given(any()).respond_with(Clerk(desk.clone())).mount(&server).await;
        Self { server, desk }
    }

    /// A world whose company has an account at this provider.
    pub async fn world(&self, changes: &[(&str, &str)]) -> World {
        let uri = self.server.uri();
        let world = World::with(&[&[("providers.card.base_url", uri.as_str())], changes].concat()).await;
        world.card_gateway(world.company).await;
        world
    }

    /// The base URL.
    pub fn url(&self) -> String {
        self.server.uri()
    }

    /// Responds to the next requests with `answers`, whatever they are.
    pub fn answer_next(&self, answers: impl IntoIterator<Item = ResponseTemplate>) {
        self.desk.lock().unwrap().instead.extend(answers);
    }

    /// From now on, takes this long to respond. Customers are still created at once.
    pub fn take(&self, work: Duration) {
        self.desk.lock().unwrap().work = work;
    }

    /// From now on, has an event that no endpoint has taken.
    pub fn has(&self, mut event: Value, created_at: DateTime<Utc>) {
        event["created"] = json!(created_at.timestamp());
        self.desk.lock().unwrap().undelivered.insert(0, event);
    }

    /// Forgets an event, as it does after a month.
    pub fn forget(&self, id: &str) {
        self.desk.lock().unwrap().undelivered.retain(|event| event["id"] != id);
    }

    /// Responds with `answers` to the next requests for events behind the first page.
    pub fn answer_events_after_the_first(&self, answers: impl IntoIterator<Item = ResponseTemplate>) {
        self.desk.lock().unwrap().instead_of_pages.extend(answers);
    }

    /// Deletes all customers.
    pub fn forget_customers(&self) {
        self.desk.lock().unwrap().customers.clear();
    }

    /// The form that each customer was created with.
    pub fn customers(&self) -> Vec<HashMap<String, String>> {
        self.desk.lock().unwrap().customers.values().map(|form| form.iter().cloned().collect()).collect()
    }

    /// All requests to `path`, oldest first.
    pub async fn requests(&self, path: &str) -> Vec<Request> {
        self.server.received_requests().await.unwrap().into_iter().filter(|request| request.url.path() == path).collect()
    }
}

impl World {
    /// Creates a gateway of the card provider for a company.
    pub async fn card_gateway(&self, company: CompanyId) -> GatewayId {
        self.card_gateway_with(company, SECRET_KEY).await
    }

    /// Creates one with a secret key of the story's own.
    pub async fn card_gateway_with(&self, company: CompanyId, secret_key: &str) -> GatewayId {
        let secret_key = SecretKey::parse(&secret_key.into()).unwrap();
        let body = GatewayBody::of(drivers::named("card").unwrap(), "Cards".to_owned().try_into().unwrap(), secret_key);
        operations::create::<Gateway>(&self.state.gateways, &Caller::command_line(company), body).await.unwrap().record.id
    }
}

/// An error response in the provider's format. Its message is for developers; customers must not see it.
pub fn refusal(status: u16, kind: &str, more: Value) -> ResponseTemplate {
    let mut error = json!({ "type": kind, "message": "SECRET WORDS of the provider about Ada" });
    error.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    ResponseTemplate::new(status).set_body_json(json!({ "error": error }))
}

pub fn header<'a>(request: &'a Request, name: &str) -> &'a str {
    request.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
}

struct Clerk(Arc<Mutex<Desk>>);

impl Respond for Clerk {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let mut desk = self.0.lock().unwrap();
        if let Some(answer) = desk.instead.pop_front() {
            return answer;
        }
        if header(request, "authorization") != format!("Bearer {SECRET_KEY}") {
            return refusal(401, "invalid_request_error", json!({}));
        }
        if request.method.as_str() == "GET" && request.url.path() == "/v1/events" {
            return desk.list(&request.url.query_pairs().into_owned().collect());
        }
        let form: Form = form_urlencoded::parse(&request.body).into_owned().collect();
        let key = header(request, "idempotency-key").to_owned();
        if let Some((known_form, answer, from)) = desk.answered.get(&key) {
            return match (known_form == &form, *from <= Instant::now()) {
                (false, _) => refusal(400, "idempotency_error", json!({})),
                (true, false) => refusal(409, "idempotency_error", json!({ "code": "idempotency_key_in_use" })),
                (true, true) => ResponseTemplate::new(200).set_body_json(answer),
            };
        }
        match desk.make(request.url.path(), header(request, "stripe-version"), &form) {
            Ok(made) => {
                let work = desk.work;
                if !key.is_empty() {
                    desk.answered.insert(key, (form, made.clone(), Instant::now() + work));
                }
                ResponseTemplate::new(200).set_body_json(made).set_delay(work)
            }
            Err(refused) => refusal(refused.0, "invalid_request_error", refused.1),
        }
    }
}

impl Desk {
    /// A page of the events that no endpoint has taken.
    fn list(&mut self, query: &HashMap<String, String>) -> ResponseTemplate {
        assert_eq!(query["delivery_success"], "false");
        let (since, limit): (i64, usize) = (query["created[gte]"].parse().unwrap(), query["limit"].parse().unwrap());
        assert!((1..=100).contains(&limit));
        let mut begin = 0;
        if let Some(behind) = query.get("starting_after") {
            if let Some(answer) = self.instead_of_pages.pop_front() {
                return answer;
            }
            match self.undelivered.iter().position(|event| event["id"] == behind.as_str()) {
                Some(position) => begin = position + 1,
                None => return refusal(400, "invalid_request_error", json!({ "code": "resource_missing", "param": "starting_after" })),
            }
        }
        let found: Vec<_> = self.undelivered[begin..].iter().filter(|event| event["created"].as_i64().unwrap() >= since).collect();
        let page = &found[..found.len().min(limit)];
        let list = json!({ "object": "list", "url": "/v1/events", "has_more": page.len() < found.len(), "data": page });
        ResponseTemplate::new(200).set_body_json(list)
    }

    fn make(&mut self, path: &str, version: &str, form: &Form) -> Result<Value, (u16, Value)> {
        let of_customer = || {
            let named = form.iter().find(|(name, _)| name == "customer").map(|(_, id)| id.clone());
            let known = named.filter(|id| self.customers.contains_key(id));
            known.ok_or_else(|| (404, json!({ "code": "resource_missing", "param": "customer" })))
        };
        match path {
            "/v1/customers" => {
                let id = format!("cus_{}", self.answered.len());
                self.customers.insert(id.clone(), form.clone());
                Ok(json!({ "id": id, "object": "customer" }))
            }
            "/v1/ephemeral_keys" if !version.is_empty() => {
                Ok(json!({ "id": "ephkey_1", "secret": format!("ek_{}_{version}", of_customer()?) }))
            }
            "/v1/setup_intents" => Ok(json!({ "id": "seti_1", "client_secret": format!("seti_1_secret_{}", of_customer()?) })),
            _ => Err((400, json!({}))),
        }
    }
}
