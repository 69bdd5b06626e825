//! `GET customers/me` against what Postgres itself could answer: requests/s ÷ `pgbench -S -M prepared` transactions/s on the same
//! server, one after the other, with as many callers. `-- --quick` takes seconds and shows only that it works.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark reports, and ends where something fails")]

mod support;

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use support::calls::{Caller, load, request};
use support::service::Service;

const CALLERS: usize = 8;
const CUSTOMERS: usize = 200;

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let time = Duration::from_secs(if quick { 1 } else { 10 });
    let service = Service::start(&[]);
    let key = format!("Bearer {}", service.demo.store_key);
    let tokens: Vec<String> = (0..CUSTOMERS).map(|number| register(&service, &key, number)).collect();
    let requests: Vec<_> = tokens
        .iter()
        .map(|token| request("GET", "/storefront/v1/customers/me", &[("authorization", &key), ("customer-token", token)], ""))
        .collect();

    let me = load(service.address, CALLERS, time, 200, |caller, turn| requests[(caller * 31 + turn) % requests.len()].clone());
    let postgres = pgbench(&service.database(), time);
    println!("me: {:.0} requests/s, p50 {:?}, p99 {:?}", me.per_second, me.percentile(0.50), me.percentile(0.99));
    println!("me: pgbench -S -M prepared: {postgres:.0} transactions/s");
    println!("me: ratio {:.2} (aim 0.60), resident {:.0} MiB", me.per_second / postgres, service.resident_mib());
}

/// Registers a customer and gives their token.
fn register(service: &Service, key: &str, number: usize) -> String {
    let mut caller = Caller::connect(service.address);
    let email = format!("customer{number}@example.com");
    let from = format!("9.{}.{}.1", number / 250, number % 250);
    let headers = [("authorization", key), ("x-forwarded-for", from.as_str())];
    let ask = json!({ "identity": email }).to_string();
    assert_eq!(caller.call(&request("POST", "/storefront/v1/customers/request-creation-code", &headers, &ask)).0, 200);
    let mailbox: Value = serde_json::from_slice(caller.call(&request("GET", "/dev/mailbox", &[], "")).1).unwrap();
    let body = json!({ "name": "Ada", "identity": email, "code": mailbox[0]["code"] }).to_string();
    let (status, answer) = caller.call(&request("POST", "/storefront/v1/customers", &headers, &body));
    assert_eq!(status, 201, "{}", String::from_utf8_lossy(answer));
    serde_json::from_slice::<Value>(answer).unwrap()["token"].as_str().unwrap().to_owned()
}

/// Transactions/s of single-row selects, or an explanation of why there are none.
fn pgbench(database: &str, time: Duration) -> f64 {
    let programs = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten().map(|entry| entry.path().join("bin"));
    let path = std::env::join_paths(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).chain(programs)).unwrap();
    let run = |arguments: &[&str]| {
        let output = Command::new("pgbench").env("PATH", &path).args(arguments).arg(database).output().expect("pgbench is installed");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    run(&["--initialize", "--quiet", "--scale=1"]);
    let (clients, seconds) = (format!("--client={CALLERS}"), format!("--time={}", time.as_secs()));
    let report = run(&["--select-only", "--protocol=prepared", "--jobs=2", "--no-vacuum", &clients, &seconds]);
    let line = report.lines().find_map(|line| line.strip_prefix("tps = ")).expect("pgbench tells its rate");
    line.split(' ').next().unwrap().parse().unwrap()
}
