//! The pages of the console beside ten million deliveries, a million events and a million customers: the slowest page's 95th
//! percentile on the server.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};
use url::form_urlencoded;

use crate::figures::{Aim, Figures, millis};
use crate::support::calls::{Caller, request};
use crate::support::customers;
use crate::support::database::Database;
use crate::support::load::load;
use crate::support::service::Service;

/// The time in which a page must be made, in milliseconds.
const AIM: f64 = 50.0;

/// An id with the timestamp `at`, in the format of the program, for the number `n`.
const ID: &str = "overlay(md5(n::text)::uuid::text placing left(uuid_v7_floor(at)::text, 14) || '7' from 1)::uuid";

pub fn measure(figures: &mut Figures) {
    let service = Service::start(&[]);
    let events = figures.many(1_000_000, 5_000);
    let customers = figures.many(1_000_000, 5_000);
    let key = service.api_key();
    let call = |method: &str, path: &str, status: u16, body: &str| {
        Caller::connect(service.address).ask(status, &request(method, path, &[("authorization", &key)], body))
    };
    let webhook = call(
        "POST",
        "/developers/int/v1/webhooks",
        201,
        &json!({ "url": "https://1.1.1.1/hooks", "events": ["fleet.created"] }).to_string(),
    );
    let order = call(
        "POST",
        "/fleet/int/v1/orders",
        201,
        &json!({ "payload": { "pickup": "1 Mill Lane", "dropoff": "2 High Street" } }).to_string(),
    );
    customers::insert(&service, customers, None);
    place(&service, webhook["webhook"]["uuid"].as_str().unwrap(), events);

    let newest = |path: &str, plural: &str| call("GET", &format!("{path}?limit=1"), 200, "")[plural][0].clone();
    let delivery = newest("/developers/int/v1/deliveries", "deliveries");
    let customer = newest("/storefront/int/v1/customers", "customers");
    let id = |record: &Value, member: &str| record[member].as_str().unwrap().to_owned();
    let webhook = webhook["webhook"]["id"].as_str().unwrap();
    let pages = [
        "/console".to_owned(),
        "/console?period=7d".to_owned(),
        "/console/records/developers/webhooks".to_owned(),
        format!("/console/webhooks/{webhook}"),
        format!("/console/webhooks/{webhook}?status=all"),
        format!("/console/webhooks/{webhook}?status=delivered"),
        format!("/console/webhooks/{webhook}?period=30d"),
        "/console/records/developers/deliveries".to_owned(),
        "/console/records/developers/deliveries?status=failed".to_owned(),
        format!("/console/deliveries/{}", id(&delivery, "id")),
        "/console/records/developers/events".to_owned(),
        "/console/records/developers/events?event=fleet.created".to_owned(),
        "/console/records/developers/events?event=order.completed".to_owned(),
        format!("/console/events/{}", id(&delivery, "event_id")),
        "/console/records/storefront/customers".to_owned(),
        format!("/console/records/storefront/customers?email={}", customers::email(customers / 2)),
        format!("/console/customers/{}", id(&customer, "id")),
        "/console/records/storefront/sign-ins".to_owned(),
        "/console/records/storefront/texts".to_owned(),
        "/console/texts".to_owned(),
        "/console/records/ledger/payments".to_owned(),
        format!("/console/records/fleet/orders/{}", order["order"]["id"].as_str().unwrap()),
        "/console/records/developers/changes".to_owned(),
        format!("/console/search?q={}", customers::email(customers / 2)),
        "/console/search?q=nobody%20is%20called%20so".to_owned(),
    ];
    let cookie = sign_in(&service);
    let time = figures.time(3);
    let mut slowest = (0.0, "");
    for page in &pages {
        let get = request("GET", page, &[("cookie", &cookie)], "");
        // The search for a customer leads to their page. No other page leads elsewhere, such as to the sign-in.
        let status = if page.starts_with("/console/search?q=customer") { 303 } else { 200 };
        let p95 = millis(load(service.address, 1, time, &[status], |_, _| get.clone()).percentile(0.95));
        if p95 > slowest.0 {
            slowest = (p95, page);
        }
        let shown = page.split(['?', '_']).next().unwrap_or(page);
        figures.show(&format!("console, p95 in ms of {shown}"), p95, Aim::Stated, page);
    }
    let (p95, page) = slowest;
    let parts = format!(
        "p95 in ms of {page}, of {} pages beside {} deliveries, {events} events and {customers} customers",
        pages.len(),
        10 * events
    );
    figures.show("console", p95, Aim::AtMost(AIM), &parts);
}

/// Inserts events with ten closed deliveries each, one in twenty of them failed, over nine days.
fn place(service: &Service, subscription: &str, events: usize) {
    let company = service.demo.company.uuid();
    let mut database = Database::of(service);
    let event = |n: &str| format!("(select {ID} from (select {n} as n, now() - {n} * interval '800 milliseconds' as at) as event)");
    let (sample, failed) = (event_body(), "n % 20 = 0");
    let of_delivery = event("((n + 9) / 10)");
    let all = 10 * events;
    database.execute(&format!(
        "set session_replication_role = replica;
         begin;
         insert into events (id, company_id, name, body, created_at)
         select {ID}, '{company}', 'fleet.created', '{sample}', at
         from generate_series(1, {events}) as n, lateral (select now() - n * interval '800 milliseconds' as at) as instant;

         insert into deliveries (id, company_id, subscription_id, event_id, event, state, attempts, created_at, closed_at)
         select {ID}, '{company}', '{subscription}', {of_delivery}, 'fleet.created',
                case when {failed} then 'failed' else 'delivered' end, 1, at, at
         from generate_series(1, {all}) as n, lateral (select now() - n * interval '80 milliseconds' as at) as instant;

         insert into attempts (id, delivery_id, number, started_at, duration_ms, status, request_headers, response_headers, response_body)
         select {ID}, {ID}, 1, at, 12, case when {failed} then 500 else 200 end, '{{\"content-type\":\"application/json\"}}',
                '{{\"content-length\":\"0\"}}', ''
         from generate_series(1, {all}) as n, lateral (select now() - n * interval '80 milliseconds' as at) as instant;
         commit"
    ));
    for statement in ["vacuum analyze events", "vacuum analyze deliveries", "vacuum analyze attempts", "checkpoint"] {
        database.execute(statement);
    }
}

/// The body of an event, in the form of the envelope.
fn event_body() -> Value {
    json!({
        "id": "event_01h455vb4pex5vsknk084sn02q", "api_version": "v1", "event": "fleet.created", "created_at": "2026-05-21 10:15:00",
        "data": { "id": "fleet_01h455vb4pex5vsknk084sn02q", "name": "North" }
    })
}

/// Signs the demonstration operator in; returns the `Cookie` header of their browser.
fn sign_in(service: &Service) -> String {
    let operator = &service.demo.operator;
    let form = form_urlencoded::Serializer::new(String::new())
        .extend_pairs([("email", &operator.email), ("password", &operator.password)])
        .finish();
    let mut stream = TcpStream::connect(service.address).unwrap();
    let head = "POST /console/sign-in HTTP/1.1\r\nhost: portico\r\nconnection: close\r\nsec-fetch-site: same-origin\r\n\
                content-type: application/x-www-form-urlencoded";
    write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{form}", form.len()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let cookies: Vec<_> = answer.lines().filter_map(|line| line.strip_prefix("set-cookie: ")?.split(';').next()).collect();
    assert!(!cookies.is_empty(), "nobody is signed in: {answer}");
    cookies.join("; ")
}
