//! Deleting a company with millions of rows: how fast that is, and what another company notices of it.

use std::thread;
use std::time::Instant;

use portico::kernel::ids::CompanyId;

use crate::figures::{Aim, Figures, millis};
use crate::neighbours::Neighbour;
use crate::support::company::{Company, run};
use crate::support::database::Database;
use crate::support::program::Program;
use crate::support::service::Service;

pub fn measure(figures: &mut Figures) {
    let deliveries = figures.many(1_000_000, 10_000);
    let neighbour = Neighbour::new(figures, &Program::own());
    let service = &neighbour.service;
    let id = with_deliveries(service, deliveries).to_string();
    let without = neighbour.p99();
    run(service, &["company", "suspend", &id, "--json"]);
    let (rows, took, with) = thread::scope(|scope| {
        let deleting = scope.spawn(|| {
            let begun = Instant::now();
            let deleted = run(service, &["company", "delete", &id, "--yes", "--json"]);
            let tables = deleted["tables"].as_array().unwrap().iter();
            (tables.map(|table| table["rows"].as_u64().unwrap()).sum::<u64>(), begun.elapsed())
        });
        let with = neighbour.p99();
        let (rows, took) = deleting.join().unwrap();
        (rows, took, with)
    });
    assert!(rows >= 3 * deliveries as u64);
    let parts = format!("{rows} rows in {:.1} s", took.as_secs_f64());
    figures.show("deletion, rows/s", rows as f64 / took.as_secs_f64(), Aim::Stated, &parts);
    let parts = format!("p99 {:.2} ms of another company meanwhile ÷ {:.2} ms before", millis(with), millis(without));
    figures.show("deletion, neighbour", with.as_secs_f64() / without.as_secs_f64(), Aim::TailAtMost(2.0), &parts);
}

/// A company with so many deliveries, each with an attempt and an event.
fn with_deliveries(service: &Service, deliveries: usize) -> CompanyId {
    let found = Company::found(service).id;
    let company = found.uuid();
    // An id with the timestamp `at`, in the format of the program.
    let id = "overlay(md5(n::text)::uuid::text placing left(uuid_v7_floor(at)::text, 14) || '7' from 1)::uuid";
    let rows = format!("generate_series(1, {deliveries}) as n, lateral (select now() - n * interval '80 milliseconds' as at) as instant");
    let mut database = Database::of(service);
    database.execute(&format!(
        "insert into events (id, company_id, name, body, created_at) select {id}, '{company}', 'fleet.created', '{{}}', at from {rows};
         insert into deliveries (id, company_id, subscription_id, event_id, event, state, attempts, created_at, closed_at)
         select {id}, '{company}', gen_random_uuid(), {id}, 'fleet.created', 'delivered', 1, at, at from {rows};
         insert into attempts (id, delivery_id, number, started_at, duration_ms, status, request_headers, response_headers, response_body)
         select {id}, {id}, 1, at, 12, 200, '{{\"content-type\":\"application/json\"}}', '{{\"content-length\":\"0\"}}', '' from {rows};"
    ));
    for statement in ["vacuum analyze events", "vacuum analyze deliveries", "vacuum analyze attempts", "checkpoint"] {
        database.execute(statement);
    }
    found
}
