//! What the instances say of themselves while requests are sent, read from their metrics once a second and before one is killed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use reqwest::Client;
use tokio::sync::{mpsc, oneshot};

use super::call::Call;
use super::instances::Instance;
use super::metrics::{Histogram, Scrape, call, label};

const INTERVAL: Duration = Duration::from_secs(1);
/// The service asks the database for two seconds at most.
const TIMEOUT: Duration = Duration::from_secs(3);

/// A part of the soak, or all of it.
#[derive(Default)]
pub struct Span {
    /// Answers by status.
    pub answers: BTreeMap<String, f64>,
    pub times: BTreeMap<Call, Histogram>,
    /// Deliveries after an attempt, by state.
    pub deliveries: BTreeMap<String, f64>,
    /// The most memory of each instance, in MiB.
    pub memory: [f64; 2],
    /// The most events that waited to be fanned out, and the age of the first of them, in seconds.
    pub outbox: (f64, f64),
    /// Since when the first delivery was due, at most, in seconds.
    pub due: f64,
}

impl Span {
    pub fn requests(&self) -> f64 {
        self.answers.values().sum()
    }

    /// Adds what an instance counted between two scrapes.
    fn add(&mut self, number: usize, earlier: &Scrape, scrape: &Scrape) {
        for (series, added) in scrape.added_since(earlier, "portico_http_requests_total") {
            if call(series).is_some() && added > 0.0 {
                *self.answers.entry(label(series, "status").to_owned()).or_default() += added;
            }
        }
        for (series, added) in scrape.added_since(earlier, "portico_http_request_seconds_bucket") {
            if let Some(call) = call(series) {
                let bound = label(series, "le").parse().unwrap_or(f64::INFINITY);
                self.times.entry(call).or_default().add(bound, added);
            }
        }
        for (series, added) in scrape.added_since(earlier, "portico_webhook_deliveries_total") {
            *self.deliveries.entry(label(series, "state").to_owned()).or_default() += added;
        }
        let most = |seen: &mut f64, name| *seen = seen.max(scrape.greatest(name));
        self.memory[number] = self.memory[number].max(scrape.greatest("process_resident_memory_bytes") / 1_048_576.0);
        most(&mut self.outbox.0, "portico_outbox_events");
        most(&mut self.outbox.1, "portico_outbox_oldest_seconds");
        most(&mut self.due, "portico_webhook_oldest_due_seconds");
    }
}

/// Has a look be taken out of turn, by whoever is about to end what is looked at.
pub struct Look(mpsc::Sender<oneshot::Sender<()>>);

/// Who asks for a look, and who takes it.
pub fn looks() -> (Look, Asked) {
    let (asks, asked) = mpsc::channel(1);
    (Look(asks), asked)
}

pub type Asked = mpsc::Receiver<oneshot::Sender<()>>;

impl Look {
    /// Returns when the look was taken.
    pub fn now(&self) {
        let (taken, until_taken) = oneshot::channel();
        self.0.blocking_send(taken).expect("somebody watches until the last fault");
        until_taken.blocking_recv().expect("who watches answers");
    }
}

/// The instances, and what they have said so far.
pub struct Watch<'a> {
    client: Client,
    asked: Asked,
    instances: &'a [Instance; 2],
    last: [Scrape; 2],
    begin: Instant,
    /// All that was seen.
    pub whole: Span,
    /// The memory of each instance in MiB, while it was there.
    pub memory: [Vec<(Duration, f64)>; 2],
}

impl<'a> Watch<'a> {
    /// Counts from now on.
    pub async fn begin(instances: &'a [Instance; 2], begin: Instant, asked: Asked) -> Self {
        let client = Client::builder().no_proxy().timeout(TIMEOUT).build().unwrap();
        let mut this =
            Self { client, asked, instances, last: Default::default(), begin, whole: Span::default(), memory: Default::default() };
        this.look(&mut Span::default()).await;
        this.whole = Span::default();
        this
    }

    /// Watches until then.
    pub async fn until(&mut self, until: Instant) -> Span {
        let mut span = Span::default();
        while Instant::now() < until {
            let next = (Instant::now() + INTERVAL).min(until);
            let asked = tokio::time::timeout_at(next.into(), self.asked.recv()).await.ok();
            self.look(&mut span).await;
            if let Some(taken) = asked.flatten() {
                taken.send(()).expect("who asked for a look waits for it");
            }
        }
        span
    }

    async fn look(&mut self, span: &mut Span) {
        for (number, instance) in self.instances.iter().enumerate() {
            let Some(scrape) = Scrape::of(&self.client, instance.metrics).await else { continue };
            span.add(number, &self.last[number], &scrape);
            self.whole.add(number, &self.last[number], &scrape);
            self.memory[number].push((self.begin.elapsed(), scrape.greatest("process_resident_memory_bytes") / 1_048_576.0));
            self.last[number] = scrape;
        }
    }
}
