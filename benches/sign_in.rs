//! `POST customers/login` against the hashing alone: sign-ins/s ÷ (cores ÷ seconds of one hash). What a flood of sign-ins leaves to other
//! routes, and how much memory it takes. `-- --quick` takes seconds and shows only that it works.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark reports, and ends where something fails")]

mod support;

use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use argon2::password_hash::PasswordHasher;
use argon2::{Algorithm, Argon2, Params, Version};
use portico::kernel::clock::Clock;
use portico::kernel::ids::CustomerId;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};
use support::calls::{Caller, load, request};
use support::service::Service;

const PASSWORD: &str = "correct horse battery";
const CUSTOMERS: usize = 64;

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let time = Duration::from_secs(if quick { 1 } else { 10 });
    let service = Service::start(&[]);
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, Params::new(19_456, 2, 1, None).unwrap());
    let hash = argon2.hash_password(PASSWORD.as_bytes()).unwrap().to_string();
    insert_customers(&service, &hash);
    let (cores, one_hash) = (available_parallelism().map_or(1, usize::from), seconds_of_a_hash(&argon2, time));

    let key = format!("Bearer {}", service.demo.store_key);
    let login = |number: usize| {
        let body = json!({ "identity": format!("customer{}@example.com", number % CUSTOMERS), "password": PASSWORD }).to_string();
        request("POST", "/storefront/v1/customers/login", &[("authorization", &key)], &body)
    };
    // Few enough callers that the queue never refuses, enough that no thread waits for work.
    let callers = cores * 8;
    let sign_ins = load(service.address, callers, time, 200, |caller, turn| login(caller + turn * callers));
    let resident = service.resident_mib();

    let answer: Value = serde_json::from_slice(Caller::connect(service.address).call(&login(0)).1).unwrap();
    let token = answer["token"].as_str().unwrap();
    let me = || request("GET", "/storefront/v1/customers/me", &[("authorization", &key), ("customer-token", token)], "");
    let idle = load(service.address, 1, time, 200, |_, _| me());
    let busy = std::thread::scope(|scope| {
        scope.spawn(|| load(service.address, callers, time, 200, |caller, turn| login(caller + turn * callers)));
        load(service.address, 1, time, 200, |_, _| me())
    });
    let limit = cores as f64 / one_hash;
    println!("sign-in: {:.0} sign-ins/s of {limit:.0} hashes/s on {cores} cores", sign_ins.per_second);
    println!("sign-in: ratio {:.2} (aim 0.93), resident {resident:.0} MiB (aim below 80)", sign_ins.per_second / limit);
    let (quiet, flooded) = (idle.percentile(0.99), busy.percentile(0.99));
    println!(
        "sign-in: p99 of me {flooded:?} under the flood, {quiet:?} idle: ratio {:.1} (aim below 3)",
        flooded.as_secs_f64() / quiet.as_secs_f64()
    );
}

/// Seconds one hash takes while every core hashes, as they do under a flood.
fn seconds_of_a_hash(argon2: &Argon2<'_>, time: Duration) -> f64 {
    let hashed: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..available_parallelism().map_or(1, usize::from))
            .map(|_| {
                scope.spawn(|| {
                    let (begin, mut hashed) = (Instant::now(), 0);
                    let mut memory = vec![argon2::Block::default(); 19_456];
                    while begin.elapsed() < time {
                        argon2.hash_password_into_with_memory(PASSWORD.as_bytes(), &[7; 16], &mut [0; 32], memory.as_mut_slice()).unwrap();
                        hashed += 1;
                    }
                    hashed
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    time.as_secs_f64() * available_parallelism().map_or(1, usize::from) as f64 / hashed as f64
}

/// Customers with a password, put straight into the database: registering them is not what is measured.
fn insert_customers(service: &Service, hash: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut conn = PgConnection::connect(&service.database()).await.unwrap();
        for number in 0..CUSTOMERS {
            sqlx::query(
                "insert into customers (id, store_id, name, email, email_verified_at, password_hash, created_at, updated_at)
                 values ($1, $2, 'Ada', $3, now(), $4, now(), now())",
            )
            .bind(CustomerId::new(Clock::System.now()).uuid())
            .bind(service.demo.store.uuid())
            .bind(format!("customer{number}@example.com"))
            .bind(hash)
            .execute(&mut conn)
            .await
            .unwrap();
        }
    });
}
