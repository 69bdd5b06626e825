//! Moving a company to another cell: for how long its requests have to wait, and how fast its log follows.

use serde_json::json;

use crate::figures::{Aim, Figures};
use crate::support::company::{Company, run_with};
use crate::support::database::Database;
use crate::support::service::Service;

pub fn measure(figures: &mut Figures) {
    let (open, closed) = (figures.many(50_000, 1_000), figures.many(500_000, 2_000));
    let service = Service::start(&[]);
    let mut database = Database::of(&service);
    database.execute("create database other template template0");
    let url = service.database_url();
    let (server, options) = url.rsplit_once("/portico").unwrap();
    let cell = format!("{server}/other{options}");
    let run = |arguments: &[&str]| run_with(&service, &[("PORTICO_DATABASE__CELLS__B__URL", &cell)], arguments);

    let company = Company::found(&service);
    company.subscribe(&service, &["https://localhost:9999/".to_owned()], "order.created", &json!({}));
    fill(&mut database, &company, open, closed);
    let moved = run(&["company", "move", &company.id.to_string(), "--to", "b", "--json"]);
    let moved = &moved["company"];
    let figure = |name: &str| moved[name].as_u64().unwrap() as f64;
    let (rows, paused, log) = (figure("rows"), figure("paused_ms") / 1_000.0, figure("log_rows"));
    assert!(rows >= 2.0 * open as f64 && log >= closed as f64, "{moved}");
    let parts = format!("{rows} rows, of which {} events and deliveries that wait", 2 * open);
    figures.show("moving, seconds in which requests wait", paused, Aim::AtMost(5.0), &parts);
    let seconds = figure("log_ms") / 1_000.0;
    let parts = format!("{log} deliveries and events in {seconds:.1} s, each delivery with its attempt");
    figures.show("moving, rows of the log/s", log / seconds, Aim::Stated, &parts);
}

/// Events whose deliveries wait for a while, and deliveries that have ended.
fn fill(database: &mut Database, company: &Company, open: usize, closed: usize) {
    let company = company.id.uuid();
    let id = "overlay(md5(n::text)::uuid::text placing left(uuid_v7_floor(at)::text, 14) || '7' from 1)::uuid";
    let rows = |from: usize, to: usize| {
        format!("generate_series({from}, {to}) as n, lateral (select now() - n * interval '80 milliseconds' as at) as instant")
    };
    let (waiting, ended) = (rows(1, open), rows(open + 1, open + closed));
    let body = "convert_to(repeat('{\"order\":\"a usual one\"}', 20), 'UTF8')";
    database.execute(&format!(
        "insert into events (id, company_id, name, body, created_at) select {id}, '{company}', 'order.created', {body}, at from {waiting};
         insert into waiting (id, company_id, subscription_id, event_id, event, lane, due_at, created_at, updated_at)
         select {id}, '{company}', subscription.id, {id}, 'order.created', 0, now() + interval '1 day', at, at
         from (select id from subscriptions where company_id = '{company}') as subscription, {waiting};
         insert into events (id, company_id, name, body, created_at) select {id}, '{company}', 'order.created', {body}, at from {ended};
         insert into deliveries (id, company_id, subscription_id, event_id, event, state, attempts, created_at, closed_at)
         select {id}, '{company}', gen_random_uuid(), {id}, 'order.created', 'delivered', 1, at, at from {ended};
         insert into attempts (id, delivery_id, number, started_at, duration_ms, status, request_headers, response_headers, response_body)
         select {id}, {id}, 1, at, 12, 200, '{{\"content-type\":\"application/json\"}}', '{{\"content-length\":\"0\"}}', '' from {ended};
         insert into feed (company_id, number, event_id)
         select '{company}', row_number() over (order by id), id from events where company_id = '{company}';
         insert into feed_heads (company_id, last) values ('{company}', {});",
        open + closed
    ));
    for statement in ["vacuum analyze", "checkpoint"] {
        database.execute(statement);
    }
}
