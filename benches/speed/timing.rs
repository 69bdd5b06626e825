//! Timing attacks: two hundred known identities (in a quick run, a hundred and twenty) compared with as many unknown ones, alternating on one
//! connection, by rank (Mann–Whitney). A difference that occurs by chance once in a million runs would be a leak. The known ones at `login` are of three
//! kinds: accounts with a password, accounts without one, and closed accounts.
//!
//! A planted difference of a quarter of the time shows that the test can detect a leak.

use std::cell::Cell;
use std::time::{Duration, Instant};

use argon2::password_hash::PasswordHasher;
use argon2::{Algorithm, Argon2, Params, Version};
use serde_json::{Value, json};

use crate::figures::{Aim, Figures};
use crate::support::calls::{Caller, address_of, request};
use crate::support::customers;
use crate::support::database::Database;
use crate::support::service::Service;

/// The number of standard deviations that chance exceeds, on either side, once in a million runs.
const LEAK: f64 = 4.89;

pub fn measure(figures: &mut Figures) {
    let samples = figures.many(200, 120);
    // The number of the first customer of each kind.
    let [with_password, without_password, closed] = [0, samples, 2 * samples];
    let service = Service::start(&[]);
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, Params::new(19_456, 2, 1, None).unwrap());
    customers::insert(&service, 3 * samples, Some(&argon2.hash_password(b"correct horse battery").unwrap().to_string()));
    let change = |change: &str, first: usize| {
        let emails: Vec<_> = (first..first + samples).map(|number| format!("'{}'", customers::email(number))).collect();
        Database::of(&service).execute(&format!("update customers set {change} where email in ({})", emails.join(", ")));
    };
    change("password_hash = null", without_password);
    change("closed_at = now()", closed);
    let key = service.store_key();

    // Each identity is used once, because a known attempt is counted and takes another code path. Both kinds have names of the same
    // length.
    // So is an address, which is refused after many wrong guesses.
    let addresses = Cell::new(0);
    let post = |path: &str, body: Value, expected: u16| {
        let address = address_of(addresses.replace(addresses.get() + 1));
        (request("POST", path, &[("authorization", &key), ("x-forwarded-for", &address)], &body.to_string()), expected)
    };
    let login =
        |identity: String| post("/storefront/v1/customers/login", json!({ "identity": identity, "password": "another password" }), 401);
    let verify = |identity: String| post("/storefront/v1/customers/verify-code", json!({ "identity": identity, "code": "123456" }), 422);
    let mut caller = Caller::connect(service.address);
    let mut logins = |first: usize| {
        let known = |number| login(customers::email(first + number));
        in_turns(&mut caller, samples, known, |number| login(format!("nobodyas{}@example.com", first + number)))
    };
    let (known, unknown) = logins(with_password);
    let planted = median(&unknown) / 4;
    let later: Vec<_> = unknown.iter().map(|time| *time + planted).collect();
    judge(figures, "timing of login", &known, &unknown);
    let seen = deviations(&known, &later).abs();
    figures.show("timing of login, planted", seen, Aim::AtLeast(LEAK), &format!("{planted:?} longer for unknown identities"));
    assert!(seen > LEAK, "the test does not detect a difference of {planted:?}");
    let (known, unknown) = logins(without_password);
    judge(figures, "timing of login without a password", &known, &unknown);
    let (known, unknown) = logins(closed);
    judge(figures, "timing of login to a closed account", &known, &unknown);

    let known = |number| verify(customers::email(number));
    let (known, unknown) = in_turns(&mut caller, samples, known, |number| verify(format!("nobodyas{number}@example.com")));
    judge(figures, "timing of verify-code", &known, &unknown);
}

fn judge(figures: &mut Figures, name: &str, known: &[Duration], unknown: &[Duration]) {
    let deviations = deviations(known, unknown).abs();
    let parts =
        format!("standard deviations between {} known (median {:?}) and unknown ones ({:?})", known.len(), median(known), median(unknown));
    figures.show(name, deviations, Aim::AtMost(LEAK), &parts);
    assert!(deviations < LEAK, "{name} distinguishes known identities from unknown ones");
}

/// The times for known and unknown identities; the order within each pair alternates.
fn in_turns(
    caller: &mut Caller,
    samples: usize,
    known: impl Fn(usize) -> (Vec<u8>, u16),
    unknown: impl Fn(usize) -> (Vec<u8>, u16),
) -> (Vec<Duration>, Vec<Duration>) {
    let mut time = |(request, expected): (Vec<u8>, u16)| {
        let sent = Instant::now();
        let (status, body) = caller.call(&request);
        let took = sent.elapsed();
        assert_eq!(status, expected, "{}", String::from_utf8_lossy(body));
        took
    };
    let mut times = (Vec::new(), Vec::new());
    for number in 0..samples {
        if number % 2 == 0 {
            times.0.push(time(known(number)));
            times.1.push(time(unknown(number)));
        } else {
            times.1.push(time(unknown(number)));
            times.0.push(time(known(number)));
        }
    }
    times
}

fn median(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    times[times.len() / 2]
}

/// The difference between the ranks, in standard deviations under the null hypothesis (Mann–Whitney, normal approximation).
fn deviations(one: &[Duration], other: &[Duration]) -> f64 {
    let wins: f64 =
        one.iter().flat_map(|a| other.iter().map(move |b| f64::from(u8::from(a > b)) + f64::from(u8::from(a == b)) / 2.0)).sum();
    let (n, m) = (one.len() as f64, other.len() as f64);
    (wins - n * m / 2.0) / (n * m * (n + m + 1.0) / 12.0).sqrt()
}
