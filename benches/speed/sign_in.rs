//! `POST customers/login` compared with the hashing alone: sign-ins/s ÷ (cores ÷ seconds per hash). Also the capacity that a flood
//! of sign-ins leaves to other routes, and its memory use.

use std::thread::{self, available_parallelism};
use std::time::{Duration, Instant};

use argon2::password_hash::PasswordHasher;
use argon2::{Algorithm, Argon2, Params, Version};
use serde_json::json;

use crate::figures::{Aim, Figures, millis};
use crate::support::calls::{Caller, address_of, request};
use crate::support::load::load;
use crate::support::program::Program;
use crate::support::service::Service;
use crate::support::{customers, usage};

const PASSWORD: &str = "correct horse battery";
/// Enough that none of them gets to the limit of sessions, as customers do not.
const CUSTOMERS: usize = 512;
const ROUNDS: usize = 3;

pub fn measure(figures: &mut Figures, program: &Program) {
    let service = Service::of(program, &[]);
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, Params::new(19_456, 2, 1, None).unwrap());
    customers::insert(&service, CUSTOMERS, Some(&argon2.hash_password(PASSWORD.as_bytes()).unwrap().to_string()));
    let cores = available_parallelism().map_or(1, usize::from);

    let key = service.store_key();
    let login = |number: usize, client: usize| {
        let body = json!({ "identity": customers::email(number % CUSTOMERS), "password": PASSWORD }).to_string();
        let headers = [("authorization", key.as_str()), ("x-forwarded-for", &address_of(client))];
        request("POST", "/storefront/v1/customers/login", &headers, &body)
    };
    // Few enough callers that the queue never refuses, enough that no thread waits for work.
    let callers = cores * 8;
    let flood = |time: Duration| load(service.address, callers, time, &[200], |caller, turn| login(caller + turn * callers, caller));
    let (mut sign_ins, mut limit) = (0.0, 0.0);
    for _ in 0..ROUNDS {
        limit += cores as f64 / seconds_of_a_hash(&argon2, cores, figures.time(8)) / ROUNDS as f64;
        sign_ins += flood(figures.time(8)).per_second / ROUNDS as f64;
    }
    let resident = usage::resident_mib(&service);

    let token = Caller::connect(service.address).ask(200, &login(0, 0))["token"].as_str().unwrap().to_owned();
    let time = figures.time(10);
    let me = || request("GET", "/storefront/v1/customers/me", &[("authorization", &key), ("customer-token", &token)], "");
    // At the pace of an app, so that the measured time is the response and not contention among the callers.
    let ask = || {
        load(service.address, 1, time, &[200], |_, _| {
            thread::sleep(Duration::from_millis(2));
            me()
        })
    };
    let idle = ask();
    let flooded = thread::scope(|scope| {
        scope.spawn(|| flood(time));
        ask()
    });

    figures.show(
        "sign-in",
        sign_ins / limit,
        Aim::AtLeast(0.93),
        &format!("{sign_ins:.0} sign-ins/s ÷ {limit:.0} hashes/s on {cores} cores"),
    );
    figures.note("sign-in, sign-ins/s", sign_ins);
    figures.show("sign-in, memory in MiB", resident, Aim::AtMost(80.0), "the service's process after the flood");
    let (quiet, busy) = (millis(idle.percentile(0.99)), millis(flooded.percentile(0.99)));
    let parts = format!("p99 of me {busy:.2} ms during a flood of sign-ins ÷ {quiet:.2} ms idle");
    figures.show("sign-in, p99 of others", busy / quiet, Aim::TailAtMost(3.0), &parts);
}

/// Seconds per hash while every core hashes, as under a flood.
fn seconds_of_a_hash(argon2: &Argon2<'_>, cores: usize, time: Duration) -> f64 {
    let hash = || {
        let (begin, mut hashed) = (Instant::now(), 0.0);
        let mut memory = vec![argon2::Block::default(); 19_456];
        while begin.elapsed() < time {
            argon2.hash_password_into_with_memory(PASSWORD.as_bytes(), &[7; 16], &mut [0; 32], memory.as_mut_slice()).unwrap();
            hashed += 1.0;
        }
        begin.elapsed().as_secs_f64() / hashed
    };
    let seconds: f64 = thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(hash)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    seconds / cores as f64
}
