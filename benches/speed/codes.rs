//! Verification codes: the number of customers per second that can request a code by text and sign in with it, where the time is
//! spent, and how guessing at one identity affects the others.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::figures::{Aim, Figures, millis};
use crate::support::calls::{Caller, address_of, request};
use crate::support::customers;
use crate::support::database::Database;
use crate::support::load::load;
use crate::support::service::Service;

const CALLERS: usize = 8;
/// Codes in flight at once; the guard treats fifty unused ones as pumping.
pub const BATCH: usize = 40;
pub const CUSTOMERS: usize = 20_000;
/// More than the number of database connections.
const HAMMERS: usize = 32;

pub fn measure(figures: &mut Figures) {
    let service = Service::start_counting_statements(&[]);
    customers::insert(&service, CUSTOMERS, None);
    let mut database = Database::of(&service);
    database.execute("update stores set texts_per_day = 1000000, texts_per_country_and_day = 1000000; select pg_stat_statements_reset()");
    // Until there are statistics, which PostgreSQL makes within a minute, statements are planned for tables that were empty.
    let before = sign_in(&service, 0, figures.time(2)).count;
    database.execute("analyze; select pg_stat_statements_reset()");
    let signed_in = sign_in_by_code(figures, &service, before);
    for (statement, spent) in costliest_statements(&mut database) {
        println!("codes, {:.3} ms in PostgreSQL for each code: {statement}", spent / signed_in as f64);
    }
    hammer_one_identity(figures, &service);
}

/// Shows how many codes are requested and checked; returns the number of sign-ins.
fn sign_in_by_code(figures: &mut Figures, service: &Service, first: usize) -> usize {
    let SignedIn { count, asking, checking } = sign_in(service, first, figures.time(20));
    let of_one = |spent: Duration| millis(spent) / count as f64;
    let per_second = 1000.0 / (of_one(asking) + of_one(checking));
    let parts = format!("{CALLERS} callers; {:.2} ms to request and {:.2} ms to check", of_one(asking), of_one(checking));
    figures.show("codes, requested and checked per second", per_second, Aim::AtLeast(100.0), &parts);
    count
}

/// Customers who have signed in by code, and how long that took.
pub struct SignedIn {
    pub count: usize,
    asking: Duration,
    checking: Duration,
}

/// Requests codes and signs in with them, batch by batch, for so long, beginning with this customer.
pub fn sign_in(service: &Service, first: usize, time: Duration) -> SignedIn {
    let key = service.store_key();
    let mut callers: Vec<_> = (0..CALLERS).map(|_| Caller::connect(service.address)).collect();
    let until = Instant::now() + time;
    let (mut asking, mut checking, mut count) = (Duration::ZERO, Duration::ZERO, 0);
    while Instant::now() < until && first + count + BATCH <= CUSTOMERS {
        let batch = first + count..first + count + BATCH;
        let asks: Vec<_> = batch.clone().map(|number| ask_for_code(&key, number)).collect();
        asking += each(&mut callers, &asks);
        let mailbox = callers[0].ask(200, &request("GET", "/dev/mailbox", &[], ""));
        let checks: Vec<_> = batch.map(|number| check_code(&key, number, code_for(&mailbox, number))).collect();
        checking += each(&mut callers, &checks);
        count += BATCH;
    }
    SignedIn { count, asking, checking }
}

/// One caller requests codes for a batch of customers and signs in with them.
pub fn sign_in_one_by_one(caller: &mut Caller, key: &str, first: usize) {
    let batch = first..first + BATCH;
    batch.clone().for_each(|number| drop(caller.ask(200, &ask_for_code(key, number))));
    let mailbox = caller.ask(200, &request("GET", "/dev/mailbox", &[], ""));
    batch.for_each(|number| drop(caller.ask(200, &check_code(key, number, code_for(&mailbox, number)))));
}

fn ask_for_code(key: &str, number: usize) -> Vec<u8> {
    let body = json!({ "phone": customers::phone(number) }).to_string();
    let headers = [("authorization", key), ("x-forwarded-for", &address_of(number))];
    request("POST", "/storefront/v1/customers/login-with-sms", &headers, &body)
}

fn check_code(key: &str, number: usize, code: &str) -> Vec<u8> {
    let body = json!({ "identity": customers::phone(number), "code": code }).to_string();
    let headers = [("authorization", key), ("x-forwarded-for", &address_of(number))];
    request("POST", "/storefront/v1/customers/verify-code", &headers, &body)
}

fn code_for(mailbox: &Value, number: usize) -> &str {
    let to = customers::phone(number);
    let text = mailbox.as_array().unwrap().iter().find(|message| message["to"] == to.as_str());
    text.expect("every text is in the mailbox")["code"].as_str().unwrap()
}

/// The time that the callers need for all requests, each of which must succeed.
fn each(callers: &mut [Caller], requests: &[Vec<u8>]) -> Duration {
    let begin = Instant::now();
    let share = requests.len().div_ceil(callers.len());
    thread::scope(|scope| {
        for (caller, requests) in callers.iter_mut().zip(requests.chunks(share)) {
            scope.spawn(move || requests.iter().for_each(|request| drop(caller.ask(200, request))));
        }
    });
    begin.elapsed()
}

/// The beginnings of the slowest statements and their milliseconds, without waiting for the disk at commit.
fn costliest_statements(database: &mut Database) -> Vec<(String, f64)> {
    let statements = "from pg_stat_statements where dbid = (select oid from pg_database where datname = current_database())
                      order by total_exec_time desc limit 8";
    let texts: Vec<String> = database.column(&format!("select left(regexp_replace(query, '\\s+', ' ', 'g'), 90) {statements}"));
    let times: Vec<f64> = database.column(&format!("select total_exec_time {statements}"));
    texts.into_iter().zip(times).collect()
}

/// Guesses of eight callers at many identities, while other callers guess as fast as they can: first at as many identities, then
/// all at one.
fn hammer_one_identity(figures: &mut Figures, service: &Service) {
    let (key, time) = (service.store_key(), figures.time(10));
    let guess = |number: usize| check_code(&key, number, "000000");
    let guesses = |callers: usize, first: usize, step: usize| {
        let guess = &guess;
        load(service.address, callers, time, &[422, 429], move |caller, turn| {
            guess(first + step * (caller + turn * callers) % (CUSTOMERS / 2))
        })
    };
    let while_hammered = |step: usize| {
        thread::scope(|scope| {
            let hammers = scope.spawn(|| guesses(HAMMERS, CUSTOMERS / 2, step));
            let others = guesses(CALLERS, 0, 1);
            (others, hammers.join().unwrap().per_second)
        })
    };
    let (others, hammered) = while_hammered(1);
    let (others_of_one, hammered_one) = while_hammered(0);
    let parts = format!(
        "{:.0} guesses/s at many identities beside {hammered_one:.0}/s at one ÷ {:.0} beside {hammered:.0}/s at as many",
        others_of_one.per_second, others.per_second,
    );
    figures.show("codes, others while one is hammered", others_of_one.per_second / others.per_second, Aim::AtLeast(0.90), &parts);
}
