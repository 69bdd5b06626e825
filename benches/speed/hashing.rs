//! What the flood of one client leaves of the password hashes to others: sign-ins/s of eight clients beside it ÷ without it.

use std::thread;

use argon2::password_hash::PasswordHasher;
use argon2::{Algorithm, Argon2, Params, Version};
use serde_json::json;

use crate::figures::{Aim, Figures};
use crate::support::calls::{address_of, request};
use crate::support::customers;
use crate::support::load::{Load, load};
use crate::support::service::Service;

const PASSWORD: &str = "correct horse battery";
const CUSTOMERS: usize = 64;
/// Clients other than the one that floods, each with two sign-ins in flight.
const OTHERS: usize = 8;
const FLOODERS: usize = 64;
const ROUNDS: usize = 3;

pub fn measure(figures: &mut Figures) {
    let service = Service::start(&[]);
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, Params::new(19_456, 2, 1, None).unwrap());
    customers::insert(&service, CUSTOMERS, Some(&argon2.hash_password(PASSWORD.as_bytes()).unwrap().to_string()));
    let (key, time) = (service.store_key(), figures.time(8));
    let login = |customer: usize, address: usize| {
        let body = json!({ "identity": customers::email(customer % CUSTOMERS), "password": PASSWORD }).to_string();
        let headers = [("authorization", key.as_str()), ("x-forwarded-for", &address_of(address))];
        request("POST", "/storefront/v1/customers/login", &headers, &body)
    };
    let others = || load(service.address, 2 * OTHERS, time, &[200], |caller, turn| login(caller + turn * 2 * OTHERS, caller % OTHERS));
    // Who floods is refused, too.
    let flood = || load(service.address, FLOODERS, time, &[200, 503], |caller, turn| login(caller + turn * FLOODERS, OTHERS));
    let beside_the_flood = || {
        thread::scope(|scope| {
            let flooding = scope.spawn(flood);
            (others(), flooding.join().unwrap())
        })
    };
    let (mut alone, mut flooded, mut asked) = (0.0, 0.0, 0.0);
    for _ in 0..ROUNDS {
        alone += others().per_second / ROUNDS as f64;
        let (beside, flood): (Load, Load) = beside_the_flood();
        flooded += beside.per_second / ROUNDS as f64;
        asked += flood.per_second / ROUNDS as f64;
    }
    let parts = format!(
        "{flooded:.0} sign-ins/s of {OTHERS} clients beside one that gets {asked:.0} answers/s with {FLOODERS} connections ÷ {alone:.0} without it"
    );
    figures.show("hashing, others during a flood", flooded / alone, Aim::AtLeast(0.80), &parts);
}
