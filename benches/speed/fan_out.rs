//! One event for a thousand subscriptions: the time until the last one has received it, and until the publisher has its response. And one
//! for 1,000, 3,000 and 10,000: the time of the statements that fan it out, which grows with their number and no faster.

use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::figures::{Aim, Figures, millis};
use crate::support::calls::Caller;
use crate::support::company::Company;
use crate::support::hub::{self, Statements};
use crate::support::program::Program;
use crate::support::publisher::Publisher;
use crate::support::service::Service;
use crate::support::sink::Sink;
use crate::support::usage::resident_mib;

const EVENT: &str = "order.created";
const ENDPOINTS: usize = 10;

pub fn measure(figures: &mut Figures) {
    measure_from_outside(figures, &Program::own());
    of_sizes(figures);
}

/// The times that a publisher and a subscriber see.
pub fn measure_from_outside(figures: &mut Figures, program: &Program) {
    let (subscriptions, rounds) = (figures.many(1_000, 100), figures.many(7, 2));
    let service = Service::of(program, &[]);
    let sink = Sink::open(&service, ENDPOINTS);
    let urls: Vec<_> = (0..subscriptions).map(|number| format!("{}{number}", sink.urls[number % ENDPOINTS])).collect();
    hub::subscribe(&service, &urls, EVENT);
    let one = Publisher::of(&service).one(EVENT);
    let mut caller = Caller::connect(service.address);
    let (mut published, mut arrived) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        sink.forget();
        let sent = Instant::now();
        caller.ask(201, &one);
        published.push(sent.elapsed());
        sink.await_arrivals(subscriptions);
        arrived.push(sink.span().1 - sent);
        sleep(Duration::from_millis(300));
    }
    let parts = format!("ms, one event to {subscriptions} subscriptions, median of {rounds}");
    figures.show("fan-out, last arrival", millis(median(arrived)), Aim::AtMost(500.0), &parts);
    figures.show("fan-out, publish", millis(median(published)), Aim::AtMost(20.0), &parts);
    figures.show("fan-out, memory in MiB", resident_mib(&service), Aim::AtMost(100.0), "the service's process afterwards");
}

fn of_sizes(figures: &mut Figures) {
    let (sizes, rounds) = ([1_000, 3_000, 10_000].map(|size| figures.many(size, size / 10)), figures.many(7, 2));
    let service = Service::start(&[]);
    let publishers = sizes.map(|size| {
        let company = Company::found(&service);
        // Nothing is sent there.
        let urls: Vec<_> = (0..size).map(|number| format!("https://localhost:10009/{number}")).collect();
        company.subscribe(&service, &urls, EVENT, &json!({}));
        Publisher::for_company(&service, company)
    });
    let service = service.restart(&["--no-worker"]);
    let (statements, mut caller) = (Statements::of(&service), Caller::connect(service.address));
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..=rounds {
        for (publisher, times) in publishers.iter().zip(&mut times) {
            caller.ask(201, &publisher.one(EVENT));
            times.push(statements.fan_out());
        }
    }
    // In the first round the statement is planned.
    let [few, some, many] = times.map(|times| millis(median(times[1..].to_vec())));
    let parts = format!("ms of statements for one event to {} subscriptions, median of {rounds}", sizes[2]);
    figures.show("fan-out, statements", many, Aim::AtMost(300.0), &parts);
    let per_webhook = |time: f64, size: usize| time / size as f64;
    let parts = format!(
        "{many:.0} ms for {}, {some:.0} ms for {} and {few:.0} ms for {}: the first by the webhook ÷ the last",
        sizes[2], sizes[1], sizes[0]
    );
    figures.show("fan-out, growth", per_webhook(many, sizes[2]) / per_webhook(few, sizes[0]), Aim::AtMost(1.3), &parts);
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
