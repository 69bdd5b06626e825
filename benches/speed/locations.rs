//! `POST drivers/track` compared with PostgreSQL alone: positions/s ÷ `pgbench` single-row updates/s on the same server,
//! alternating, with as many connections. Each position is a changed driver and a published event, durable before the response.
//!
//! Ten thousand drivers report in batches of fifty, as a shop's own gateway would forward them. The second figure is for drivers
//! that report one by one, the third for drivers that go online and offline (`PUT drivers/{uuid}`).

use std::cell::Cell;
use std::fmt::Write;

use crate::figures::{Aim, Figures};
use crate::support::calls::request;
use crate::support::database::Database;
use crate::support::load::rate;
use crate::support::pgbench::Pgbench;
use crate::support::service::Service;

const CALLERS: usize = 8;
const ROUNDS: usize = 3;
/// Positions per request.
const BATCH: usize = 50;

pub fn measure(figures: &mut Figures) {
    let service = Service::start(&[]);
    let drivers = hire(&service, figures.many(10_000, 1_000));
    let pgbench = Pgbench::prepare(&service, CALLERS);
    let key = service.api_key();
    let post = |path: &str, body: &str| request("POST", path, &[("authorization", &key)], body);
    // Every position differs from the one before, for whichever driver.
    let turn = Cell::new(0_usize);
    let position = || {
        let number = turn.replace(turn.get() + 1);
        let latitude = (number % 1_700_000) as f64 / 10_000.0 - 85.0;
        (&drivers[number % drivers.len()], format!("\"latitude\":{latitude},\"longitude\":13.4,\"heading\":90,\"speed\":12.5"))
    };
    let batch = || {
        let mut body = String::from("{\"positions\":[");
        for number in 0..BATCH {
            let (driver, place) = position();
            write!(body, "{}{{\"driver\":\"{driver}\",{place}}}", if number == 0 { "" } else { "," }).unwrap();
        }
        post("/fleet/int/v1/drivers/track", &(body + "]}"))
    };
    let single = || {
        let (driver, place) = position();
        post(&format!("/fleet/int/v1/drivers/{driver}/track"), &format!("{{{place}}}"))
    };

    let switches = Cell::new(0_usize);
    let switch = || {
        let number = switches.replace(switches.get() + 1);
        let (driver, online) = (&drivers[number % drivers.len()], (number / drivers.len()) % 2 == 1);
        request("PUT", &format!("/fleet/int/v1/drivers/{driver}"), &[("authorization", &key)], &format!("{{\"online\":{online}}}"))
    };

    let time = figures.time(5);
    let (mut in_batches, mut one_by_one, mut switched, mut postgres) = (0.0, 0.0, 0.0, 0.0);
    for _ in 0..ROUNDS {
        postgres += pgbench.updates_per_second(time) / ROUNDS as f64;
        in_batches += BATCH as f64 * rate(service.address, CALLERS, time, 200, batch) / ROUNDS as f64;
        one_by_one += rate(service.address, CALLERS, time, 200, single) / ROUNDS as f64;
        switched += rate(service.address, CALLERS, time, 200, switch) / ROUNDS as f64;
    }
    let parts = |rate: f64| format!("{rate:.0} positions/s ÷ {postgres:.0} single-row updates/s of pgbench -M prepared");
    figures.show("locations", in_batches / postgres, Aim::AtLeast(0.5), &parts(in_batches));
    figures.show("locations, one by one", one_by_one / postgres, Aim::Stated, &parts(one_by_one));
    let parts = format!("{switched:.0} drivers/s that go online or offline ÷ {postgres:.0} single-row updates/s of pgbench -M prepared");
    figures.show("locations, online", switched / postgres, Aim::Stated, &parts);
}

/// Inserts drivers directly into the database; returns their ids.
fn hire(service: &Service, count: usize) -> Vec<String> {
    let mut database = Database::of(service);
    let sql = "insert into drivers (id, company_id, version, created_at, updated_at, name, phone, status, online, meta)
         select gen_random_uuid(), 'COMPANY', 1, now(), now(), 'Driver ' || n, '+49151' || lpad(n::text, 8, '0'), 'active', true, '{\"shift\": \"early\"}'
         from generate_series(1, COUNT) as n returning id::text";
    let sql = sql.replace("COMPANY", &service.demo.company.uuid().to_string()).replace("COUNT", &count.to_string());
    let drivers = database.column(&sql);
    database.execute("vacuum analyze drivers");
    drivers
}
