//! One event for a thousand subscriptions: the time until the last one has received it, and until the publisher has its response.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::figures::{Aim, Figures, millis};
use crate::support::calls::Caller;
use crate::support::hub;
use crate::support::publisher::Publisher;
use crate::support::service::Service;
use crate::support::sink::Sink;
use crate::support::usage::resident_mib;

const EVENT: &str = "order.created";
const ENDPOINTS: usize = 10;

pub fn measure(figures: &mut Figures) {
    let (subscriptions, rounds) = (figures.many(1_000, 100), figures.many(7, 2));
    let service = Service::start(&[]);
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

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
