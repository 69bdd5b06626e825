//! Publishing through the API: prepared requests, and publishers with a fixed rate.

use std::collections::HashMap;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::calls::{Caller, request};
use super::service::Service;
use super::sink::Sink;

/// Concurrent publishers, so that one that waits for its response does not slow down the others.
const PUBLISHERS: u32 = 4;

/// Builds publishing requests.
pub struct Publisher {
    key: String,
    samples: HashMap<String, Value>,
}

impl Publisher {
    /// Fetches the sample of every event.
    pub fn of(service: &Service) -> Self {
        let key = service.api_key();
        let types = request("GET", "/developers/int/v1/event-types", &[("authorization", &key)], "");
        let types = Caller::connect(service.address).ask(200, &types);
        let sample = |kind: &Value| Some((kind["name"].as_str()?.to_owned(), kind["sample"]["data"].clone()));
        Self { key, samples: types["event_types"].as_array().unwrap().iter().filter_map(sample).collect() }
    }

    /// The `data` of an event.
    pub fn sample(&self, event: &str) -> Value {
        self.samples[event].clone()
    }

    /// The request for one event.
    pub fn one(&self, event: &str) -> Vec<u8> {
        self.post(&json!({ "event": event, "data": self.samples[event] }))
    }

    /// The request for many events.
    pub fn many(&self, event: &str, count: usize) -> Vec<u8> {
        let one = json!({ "event": event, "data": self.samples[event] });
        self.post(&json!({ "events": vec![one; count] }))
    }

    fn post(&self, body: &Value) -> Vec<u8> {
        request("POST", "/developers/int/v1/events", &[("authorization", &self.key)], &body.to_string())
    }

    /// Publishes at a fixed rate; returns the latencies from sending the request to the arrival of the event, shortest first.
    pub fn latencies(&self, service: &Service, sink: &Sink, event: &str, per_second: u32, time: Duration) -> Vec<Duration> {
        let pause = Duration::from_secs(1) * PUBLISHERS / per_second;
        let one = self.one(event);
        let begin = Instant::now();
        let sent: Vec<(String, Instant)> = thread::scope(|scope| {
            let publishers: Vec<_> = (0..PUBLISHERS)
                .map(|number| {
                    let one = &one;
                    scope.spawn(move || {
                        let mut caller = Caller::connect(service.address);
                        let (mut next, mut sent) = (begin + pause / PUBLISHERS * number, Vec::new());
                        while next < begin + time {
                            thread::sleep(next.saturating_duration_since(Instant::now()));
                            let at = Instant::now();
                            let answer = caller.ask(201, one);
                            sent.push((answer["event"]["id"].as_str().unwrap().to_owned(), at));
                            next += pause;
                        }
                        sent
                    })
                })
                .collect();
            publishers.into_iter().flat_map(|publisher| publisher.join().unwrap()).collect()
        });
        let until = Instant::now() + Duration::from_secs(30);
        let mut arrivals = sink.arrivals();
        while sent.iter().any(|(id, _)| !arrivals.contains_key(id)) {
            assert!(Instant::now() < until, "some events have not arrived");
            thread::sleep(Duration::from_millis(20));
            arrivals = sink.arrivals();
        }
        let mut times: Vec<_> = sent.iter().map(|(id, at)| arrivals[id].saturating_duration_since(*at)).collect();
        times.sort_unstable();
        times
    }
}

/// The value at this percentile; `times` is sorted, shortest first.
pub fn percentile(times: &[Duration], share: f64) -> Duration {
    times[((times.len() - 1) as f64 * share).round() as usize]
}
