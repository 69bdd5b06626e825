//! `GET orders` far behind the first page: the time of a page of 25 from the middle of ten million orders, with a status filter and
//! a cursor, ÷ the time of the first page.

use crate::figures::{Aim, Figures, millis};
use crate::support::calls::{Caller, request};
use crate::support::database::Database;
use crate::support::load::load;
use crate::support::service::Service;

pub fn measure(figures: &mut Figures) {
    let service = Service::start(&[]);
    let count = figures.many(10_000_000, 100_000);
    place(&service, count);
    let key = service.api_key();
    let get =
        |parameters: &str| request("GET", &format!("/fleet/int/v1/orders?status=completed{parameters}"), &[("authorization", &key)], "");
    let half_way = "&limit=1&created_before=2026-01-01T00:00:00Z";
    let page = Caller::connect(service.address).ask(200, &get(half_way));
    let deep = get(&format!("&limit=25&after={}", page["meta"]["next"].as_str().expect("there are more orders after the middle")));
    let first = get("&limit=25");
    let time = figures.time(5);
    let p50 = |request: &Vec<u8>| millis(load(service.address, 1, time, &[200], |_, _| request.clone()).percentile(0.50));
    let (first, deep) = (p50(&first), p50(&deep));
    let parts = format!("p50 {deep:.2} ms behind half of {count} orders ÷ {first:.2} ms at their beginning");
    figures.show("order list", deep / first, Aim::AtMost(1.5), &parts);
}

/// Inserts orders directly into the database, half of them older than 2026; one in ten is open.
fn place(service: &Service, count: usize) {
    let sql = "set session_replication_role = replica;
        insert into orders (id, company_id, version, created_at, updated_at, status, skip_dispatch, tracking_number, pickup, dropoff, meta)
        select overlay(gen_random_uuid()::text placing left(uuid_v7_floor(at)::text, 14) || '7' from 1)::uuid, 'COMPANY', 1, at, at, case when n % 10 = 0 then 'created' else 'completed' end, false, lpad(n::text, 12, '0'),
               '1 Mill Lane', '2 High Street', '{}'
        from generate_series(1, COUNT) as n, lateral (select timestamptz '2026-01-01' + (n - COUNT / 2) * interval '1 second') as placed (at);
        analyze orders";
    let sql = sql.replace("COMPANY", &service.demo.company.uuid().to_string()).replace("COUNT", &count.to_string());
    Database::of(service).execute(&sql);
}
