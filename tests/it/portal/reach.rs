//! Somebody with a link reaches what is of its owner: by no route, id, filter or replay anything else.

use std::collections::BTreeSet;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use portico::app;
use portico::callers::Caller;
use portico::config::Config;
use reqwest::Method;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::support::World;
use crate::support::fleet::id;
use crate::support::routes::{NOBODY, all_routes};

/// The routes that somebody with a link reaches, below `developers/int/v1`.
const REACHED: &[(Method, &str)] = &[
    (Method::GET, "/webhooks"),
    (Method::POST, "/webhooks"),
    (Method::GET, "/webhooks/{uuid}"),
    (Method::PUT, "/webhooks/{uuid}"),
    (Method::DELETE, "/webhooks/{uuid}"),
    (Method::POST, "/webhooks/{uuid}/enable"),
    (Method::POST, "/webhooks/{uuid}/disable"),
    (Method::POST, "/webhooks/{uuid}/pause"),
    (Method::POST, "/webhooks/{uuid}/resume"),
    (Method::GET, "/webhooks/{uuid}/figures"),
    (Method::GET, "/webhooks/figures"),
    (Method::POST, "/webhooks/{uuid}/rotate-secret"),
    (Method::POST, "/webhooks/{uuid}/test"),
    (Method::POST, "/webhooks/{uuid}/replay"),
    (Method::GET, "/deliveries"),
    (Method::GET, "/deliveries/{uuid}"),
    (Method::POST, "/deliveries/{uuid}/replay"),
    (Method::POST, "/deliveries/{uuid}/cancel"),
    (Method::GET, "/events"),
    (Method::GET, "/events/{uuid}"),
    (Method::POST, "/events/{uuid}/replay"),
    (Method::GET, "/events/{uuid}/explain"),
    (Method::GET, "/replays"),
    (Method::GET, "/replays/{uuid}"),
    (Method::GET, "/event-types"),
    (Method::GET, "/event-types/{name}"),
];

struct Visit<'a> {
    world: &'a World,
    router: Router,
    caller: Caller,
}

impl<'a> Visit<'a> {
    async fn of(world: &'a World, owner: &str) -> Self {
        let router = app::router(world.state.clone(), &Config::with(&[]).unwrap());
        Self { world, router, caller: world.portal_caller(owner).await }
    }

    /// The body of the answer, or the problem. A page of the console asks like this, with a caller that no request from outside can name.
    async fn ask(&self, method: &Method, path: &str, body: &Value) -> Result<Value, Value> {
        let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
        let mut request = request.body(Body::from(body.to_string())).unwrap();
        request.extensions_mut().insert(self.caller.clone());
        let Ok(response) = self.router.clone().oneshot(request).await;
        let succeeded = response.status().is_success();
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        let body = serde_json::from_slice(&body).unwrap();
        if succeeded { Ok(body) } else { Err(body) }
    }

    async fn get(&self, path: &str) -> Value {
        self.ask(&Method::GET, &format!("/developers/int/v1/{path}"), &json!({})).await.unwrap()
    }

    async fn refused(&self, method: Method, path: &str, body: Value) -> String {
        let problem = self.ask(&method, &format!("/developers/int/v1/{path}"), &body).await.unwrap_err();
        problem["code"].as_str().unwrap().to_owned()
    }
}

/// A webhook of an owner or of the company with everything that there can be of it: an event, a delivery, a replay.
async fn everything(world: &World, name: &str, owner: Option<&str>) -> Vec<String> {
    let receiver = world.endpoint(&format!("{name}.test")).await;
    let webhook = world.subscribe(&receiver, json!({ "owner": owner, "description": name })).await;
    let event = world.publish_to(owner, name).await;
    world.deliver().await;
    let replay = json!({ "since": world.clock.now(), "status": "delivered" });
    let replay = world.developers(Method::POST, &format!("webhooks/{}/replay", id(&webhook)), replay).await.ok(202);
    let deliveries = world.get(&format!("deliveries?webhook={}", id(&webhook))).await["deliveries"].take();
    let deliveries = deliveries.as_array().unwrap().iter().map(|delivery| id(delivery).to_owned());
    [id(&webhook).to_owned(), event.to_string(), id(&replay["replay"]).to_owned()].into_iter().chain(deliveries).collect()
}

#[tokio::test]
async fn every_route_but_those_of_webhooks_refuses_a_visitor() {
    let world = World::new().await;
    let visit = Visit::of(&world, "7").await;
    let mut reached = BTreeSet::new();
    for (method, path) in all_routes(NOBODY) {
        if visit.ask(&method, &path, &json!({})).await.err().is_none_or(|problem| problem["code"] != "scope_missing") {
            reached.insert((method.to_string(), path.replace(NOBODY, "{uuid}")));
        }
    }
    let expected = REACHED.iter().map(|(method, path)| (method.to_string(), format!("/developers/int/v1{path}")));
    assert_eq!(reached, expected.collect());
}

#[tokio::test]
async fn nothing_of_another_owner_or_of_the_company_is_told_or_touched() {
    let world = World::with(&[("companies.visitor_changes_per_minute", "1000")]).await;
    let own = everything(&world, "ours", Some("7")).await;
    let (other, company) = (everything(&world, "foreign", Some("8")).await, everything(&world, "company", None).await);
    let visit = Visit::of(&world, "7").await;
    let told = |answer: &Result<Value, Value>, asked: &str, ids: &[String]| {
        let (Ok(body) | Err(body)) = answer;
        let text = body.to_string();
        // An id that was asked for may be repeated.
        let words = ids.iter().map(String::as_str).filter(|id| *id != asked).chain(["foreign", "company.test"]);
        words.filter(|word| text.contains(*word)).map(str::to_owned).next()
    };
    let before = world.count("select count(*) from waiting").await;
    let foreign: Vec<_> = other.iter().chain(&company).cloned().collect();
    for id in foreign.iter().chain(&own[..1]) {
        for (method, path) in all_routes(id) {
            // Those of its own change nothing here.
            if *id == own[0] && method != Method::GET {
                continue;
            }
            let answer = visit.ask(&method, &path, &json!({})).await;
            assert_eq!(told(&answer, id, &foreign), None, "{method} {path}: {answer:?}");
        }
    }
    assert_eq!(world.count("select count(*) from waiting").await, before, "nothing is sent again");
    for list in ["webhooks", "events", "deliveries", "replays"] {
        let mine = visit.get(list).await[list].take();
        assert!(!mine.as_array().unwrap().is_empty(), "{list}");
        let is_own = |record: &Value| own.contains(&id(record).to_owned()) || record["webhook_id"] == own[0].as_str();
        assert!(mine.as_array().unwrap().iter().all(is_own), "{list}: {mine}");
    }
    for filter in [
        "webhooks?owner=8".to_owned(),
        "webhooks?query=foreign".to_owned(),
        "events?owner=8".to_owned(),
        format!("deliveries?webhook={}", other[0]),
        format!("deliveries?webhook={}", company[0]),
        format!("deliveries?webhook={}&query=foreign", other[0]),
        format!("deliveries?event_id={}", other[1]),
        format!("replays?webhook={}", other[0]),
    ] {
        let list = filter.split('?').next().unwrap();
        assert_eq!(visit.get(&filter).await[list], json!([]), "{filter}");
    }
    for (event, webhook) in [(&own[1], &other[0]), (&own[1], &company[0]), (&other[1], &own[0]), (&company[1], &own[0])] {
        let code = visit.refused(Method::GET, &format!("events/{event}/explain?webhook={webhook}"), json!({})).await;
        assert_eq!(code, "record_not_found");
    }
    assert_eq!(visit.get(&format!("events/{}/explain?webhook={}", own[1], own[0])).await["explanation"]["verdict"], "delivered");
}

#[tokio::test]
async fn a_visitor_works_on_webhooks_of_the_own_owner_alone() {
    let world = World::new().await;
    let (company, _) = world.subscriber("company.test").await;
    let receiver = world.endpoint("ours.test").await;
    let visit = Visit::of(&world, "7").await;
    for owner in [json!("8"), json!(" 7")] {
        let code = visit.refused(Method::POST, "webhooks", json!({ "url": receiver.url(), "owner": owner })).await;
        assert_eq!(code, "body_invalid");
    }
    let created = visit.ask(&Method::POST, "/developers/int/v1/webhooks", &json!({ "url": receiver.url() })).await.unwrap();
    let webhook = &created["webhook"];
    assert_eq!(webhook["owner"], "7");
    assert!(webhook["secret"].as_str().unwrap().starts_with("whsec_"));
    let one = format!("webhooks/{}", id(webhook));
    for owner in [json!("8"), json!(null)] {
        assert_eq!(visit.refused(Method::PUT, &one, json!({ "owner": owner })).await, "body_invalid");
    }
    // The secret is shown when it is made, not later.
    assert_eq!(visit.refused(Method::GET, &format!("{one}/secret"), json!({})).await, "scope_missing");

    // An event that is sent again to everybody is sent to the own webhook.
    let event = world.publish_to(Some("7"), "a").await;
    world.deliver().await;
    let again = visit.ask(&Method::POST, &format!("/developers/int/v1/events/{event}/replay"), &json!({})).await.unwrap();
    assert_eq!(again["replay"]["count"], 1);
    world.deliver().await;
    assert_eq!((receiver.count(), company.count()), (2, 1));

    // Keys of one do not meet those of another.
    let delivery = world.get(&format!("deliveries?webhook={}", id(webhook))).await["deliveries"][0]["id"].take();
    let replay = format!("/developers/int/v1/deliveries/{}/replay", delivery.as_str().unwrap());
    world.api(Method::POST, &replay).json(&json!({ "idempotency_key": "k" })).send().await.ok(201);
    let other = world.developers(Method::POST, &format!("events/{event}/replay"), json!({ "idempotency_key": "k" })).await;
    other.refused(409, "idempotency_key_used");
    visit.ask(&Method::POST, &format!("/developers/int/v1/events/{event}/replay"), &json!({ "idempotency_key": "k" })).await.unwrap();

    // The trail names the link.
    visit.ask(&Method::DELETE, &format!("/developers/int/v1/{one}"), &json!({})).await.unwrap();
    let changes = visit.world.get(&format!("changes?record={}", id(webhook))).await["changes"].take();
    assert_eq!(changes.as_array().unwrap().len(), 2);
    for change in changes.as_array().unwrap() {
        assert_eq!(change["caller"], "portal_link");
        assert!(change["caller_id"].as_str().unwrap().starts_with("portal_"), "{change}");
    }
}

#[tokio::test]
async fn a_visitor_creates_a_bounded_number_of_webhooks() {
    let world = World::new().await;
    let receiver = world.endpoint("ours.test").await;
    let visit = Visit::of(&world, "7").await;
    for _ in 0..49 {
        world.subscribe(&receiver, json!({ "owner": "7" })).await;
    }
    // Whoever creates at the same time waits and is counted.
    let body = json!({ "url": receiver.url() });
    let create = || visit.ask(&Method::POST, "/developers/int/v1/webhooks", &body);
    let made = futures::future::join_all((0..4).map(|_| create())).await;
    assert_eq!(made.iter().filter(|made| made.is_ok()).count(), 1);
    let refused = made.iter().find_map(|made| made.as_ref().err()).unwrap();
    assert!(refused["fields"]["url"][0].as_str().unwrap().starts_with("There are 50 webhooks"), "{refused}");
    // The company itself and other owners go on.
    world.subscribe(&receiver, json!({ "owner": "7" })).await;
    Visit::of(&world, "8").await.ask(&Method::POST, "/developers/int/v1/webhooks", &body).await.unwrap();
}
