//! PostgreSQL stands still for five minutes, as a virtual machine that is paused does, while 500 callbacks and 500 events arrive per second
//! and are repeated when they are refused: the memory of the service, its slowest health check, and what is there afterwards more or less
//! than once.

use std::collections::VecDeque;
use std::iter;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use reqwest::{Client, RequestBuilder};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::interval;

use crate::callbacks::{card_gateway, signature};
use crate::figures::{Aim, Figures, millis};
use crate::support::calls::{Caller, request};
use crate::support::database::Database;
use crate::support::publisher::Publisher;
use crate::support::service::Service;
use crate::support::usage::{children, resident_mib};

const PER_SECOND: u32 = 500;
const EVENT: &str = "driver.online";
/// The time before and after the standstill.
const CALM: Duration = Duration::from_secs(3);
/// The interval at which health and memory are looked at.
const INTERVAL: Duration = Duration::from_millis(20);

pub fn measure(figures: &mut Figures) {
    let settings = [("PORTICO_GATEWAYS__CALLBACKS_PER_MINUTE", "4000000000")];
    let service = Service::start(&settings);
    let base = format!("http://{}", service.address);
    let callback_url = format!("{base}{}", card_gateway(&service));
    let (events_url, key) = (format!("{base}/developers/int/v1/events"), service.api_key());
    let sample = Publisher::of(&service).sample(EVENT);
    let callback = move |client: &Client, number| {
        let intent = json!({ "id": format!("pi_{number}"), "amount": 1000, "amount_received": 1000, "currency": "usd" });
        let body = json!({ "id": format!("evt_{number}"), "type": "payment_intent.succeeded", "data": { "object": intent } }).to_string();
        client.post(&callback_url).header("card-signature", signature(&body)).body(body)
    };
    let event = move |client: &Client, number| {
        let mut data = sample.clone();
        data["meta"] = json!({ "number": number });
        client.post(&events_url).header("authorization", &key).body(json!({ "event": EVENT, "data": data }).to_string())
    };
    let ending = Arc::new(AtomicBool::new(false));
    let offered = [offer(callback, Arc::clone(&ending)), offer(event, Arc::clone(&ending))];

    let mut health = Health::new(&service);
    health.watch(CALM);
    let standstill = Standstill::begin(&service);
    health.watch(if figures.quick { Duration::from_secs(8) } else { Duration::from_secs(300) });
    drop(standstill);
    health.watch(CALM);
    ending.store(true, Ordering::Relaxed);
    let [callbacks, events] = offered.map(|offered| offered.join().unwrap());

    let mut database = Database::of(&service);
    let mut count = |what: &str, from: &str| database.number(&format!("select count({what}) from {from}"));
    assert_eq!(count("*", "payments"), callbacks as i64, "each callback makes one payment");
    assert_eq!(count("*", "events where name = 'payment.succeeded'"), callbacks as i64, "and one event");
    let numbers = "distinct convert_from(body, 'UTF8')::json -> 'data' -> 'meta' ->> 'number'";
    let of_name = format!("events where name = '{EVENT}'");
    assert_eq!(count(numbers, &of_name), events as i64, "each event is there");
    let doubled = count("*", &of_name) - events as i64;
    let parts = format!("the most while PostgreSQL stood still under {PER_SECOND} callbacks/s and {PER_SECOND} events/s");
    figures.show("standstill, memory in MiB", health.memory, Aim::AtMost(150.0), &parts);
    figures.show("standstill, /healthz in ms", millis(health.slowest), Aim::TailAtMost(50.0), "the slowest one");
    let parts = format!("of {events} events; all of them and of {callbacks} callbacks were there");
    figures.show("standstill, doubled", doubled as f64, Aim::Stated, &parts);
}

/// Sends this many requests per second; what is refused comes again before what is new. Ends, with the number of what was new, when it is
/// told to and everything is acknowledged.
fn offer<R>(request: R, ending: Arc<AtomicBool>) -> thread::JoinHandle<usize>
where
    R: Fn(&Client, usize) -> RequestBuilder + Send + 'static,
{
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let client = Client::builder().no_proxy().build().unwrap();
            let (mut sendings, mut refused) = (JoinSet::new(), VecDeque::new());
            let (mut tick, mut last) = (interval(Duration::from_secs(1) / PER_SECOND), 0);
            loop {
                tick.tick().await;
                while let Some(sent) = sendings.try_join_next() {
                    refused.extend(sent.unwrap());
                }
                let number = match refused.pop_front() {
                    Some(number) => number,
                    None if !ending.load(Ordering::Relaxed) => {
                        last += 1;
                        last
                    }
                    None if sendings.is_empty() => return last,
                    None => continue,
                };
                let sending = request(&client, number).header("content-type", "application/json").send();
                sendings.spawn(async move {
                    let acknowledged = sending.await.is_ok_and(|answer| answer.status().is_success());
                    (!acknowledged).then_some(number)
                });
            }
        })
    })
}

/// What is seen of the service from outside.
struct Health<'a> {
    service: &'a Service,
    caller: Caller,
    request: Vec<u8>,
    slowest: Duration,
    /// The most, in MiB.
    memory: f64,
}

impl<'a> Health<'a> {
    fn new(service: &'a Service) -> Self {
        let (caller, request) = (Caller::connect(service.address), request("GET", "/healthz", &[], ""));
        Self { service, caller, request, slowest: Duration::ZERO, memory: 0.0 }
    }

    fn watch(&mut self, time: Duration) {
        let begin = Instant::now();
        while begin.elapsed() < time {
            let asked = Instant::now();
            assert_eq!(self.caller.call(&self.request).0, 200);
            self.slowest = self.slowest.max(asked.elapsed());
            self.memory = self.memory.max(resident_mib(self.service));
            sleep(INTERVAL);
        }
    }
}

/// The processes of PostgreSQL, which do nothing until this is dropped.
struct Standstill(Vec<Pid>);

impl Standstill {
    fn begin(service: &Service) -> Self {
        let postmaster = service.postmaster();
        let processes = iter::once(postmaster).chain(children(postmaster)).map(|process| Pid::from_raw(process.try_into().unwrap()));
        let this = Self(processes.collect());
        this.signal(Signal::SIGSTOP);
        this
    }

    fn signal(&self, signal: Signal) {
        for process in &self.0 {
            // One that has just ended does nothing either.
            let _ = kill(*process, signal);
        }
    }
}

impl Drop for Standstill {
    fn drop(&mut self) {
        self.signal(Signal::SIGCONT);
    }
}
