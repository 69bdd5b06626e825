//! Draining next to a large backlog: the rate with a million deliveries that are due tomorrow and ten million finished ones in the
//! tables ÷ the rate without them.

use serde_json::json;

use crate::drain::{Drained, Prepare, drain, due, published};
use crate::figures::{Aim, Figures};
use crate::support::calls::{Caller, request};
use crate::support::database::Database;
use crate::support::hub;
use crate::support::program::Program;
use crate::support::service::Service;
use crate::support::sink::Sink;
use crate::support::usage::resident_mib;

const ENDPOINTS: usize = 10;

pub fn measure(figures: &mut Figures) {
    beside_a_backlog(figures, &Program::own(), due);
}

/// The same of events that have been published and not fanned out.
pub fn measure_from_outside(figures: &mut Figures, program: &Program) {
    beside_a_backlog(figures, program, published);
}

fn beside_a_backlog(figures: &mut Figures, program: &Program, prepare: Prepare) {
    let due = figures.many(20_000, 2_000);
    let (waiting, finished) = (figures.many(1_000_000, 20_000), figures.many(10_000_000, 50_000));
    let service = Service::of(program, &[]);
    let sink = Sink::open(&service, ENDPOINTS);
    hub::subscribe(&service, &sink.urls, "*");
    // Both measurements follow a drain, so caches and tables are in a comparable state.
    let Drained { service, .. } = drain(service, &sink, due, prepare);
    let Drained { service, per_second: without } = drain(service, &sink, due, prepare);
    put_aside(&service, &sink, waiting, finished);
    let Drained { service, .. } = drain(service, &sink, due, prepare);
    let Drained { service, per_second: with } = drain(service, &sink, due, prepare);
    let parts = format!("{with:.0} deliveries/s beside {waiting} waiting and {finished} finished ÷ {without:.0} without");
    figures.show("backlog", with / without, Aim::AtLeast(0.90), &parts);
    figures.show("backlog, memory in MiB", resident_mib(&service), Aim::AtMost(100.0), "the service's process afterwards");
}

/// Inserts the backlog directly into the tables of the hub, because producing it would take hours.
fn put_aside(service: &Service, sink: &Sink, waiting: usize, finished: usize) {
    let key = service.api_key();
    let body = json!({ "url": sink.urls[0], "events": ["fleet.created"] }).to_string();
    let webhook =
        Caller::connect(service.address).ask(201, &request("POST", "/developers/int/v1/webhooks", &[("authorization", &key)], &body));
    let (subscription, company) = (webhook["webhook"]["uuid"].as_str().unwrap(), service.demo.company.uuid());
    // An id with the timestamp `at`, in the format of the program.
    let id = "overlay(md5(n::text)::uuid::text placing left(uuid_v7_floor(at)::text, 14) || '7' from 1)::uuid";
    let mut database = Database::of(service);
    database.execute(&format!(
        "insert into waiting (id, company_id, subscription_id, event_id, event, lane, due_at, attempts, failures, created_at, updated_at)
         select {id}, '{company}', '{subscription}', gen_random_uuid(), 'fleet.created', 1, now() + interval '1 day', 1, 1, at, at
         from generate_series(1, {waiting}) as n, lateral (select now() - n * interval '1 millisecond' as at) as instant;

         insert into deliveries (id, company_id, subscription_id, event_id, event, state, attempts, created_at, closed_at)
         select {id}, '{company}', '{subscription}', gen_random_uuid(), 'fleet.created', 'delivered', 1, at, at
         from generate_series(1, {finished}) as n, lateral (select now() - n * interval '80 milliseconds' as at) as instant;

         insert into attempts (id, delivery_id, number, started_at, duration_ms, status, request_headers, response_headers, response_body)
         select {id}, {id}, 1, at, 12, 200, '{{\"content-type\":\"application/json\"}}', '{{\"content-length\":\"0\"}}', ''
         from generate_series(1, {finished}) as n, lateral (select now() - n * interval '80 milliseconds' as at) as instant;
"
    ));
    for statement in ["vacuum analyze waiting", "vacuum analyze deliveries", "vacuum analyze attempts", "checkpoint"] {
        database.execute(statement);
    }
}
