//! What `GET /metrics` of an instance says.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use reqwest::Client;

use super::call::Call;

/// The series that the report is about.
const WANTED: [&str; 7] = [
    "portico_http_requests_total{",
    "portico_http_request_seconds_bucket{",
    "portico_webhook_deliveries_total{",
    "process_resident_memory_bytes ",
    "portico_outbox_events ",
    "portico_outbox_oldest_seconds ",
    "portico_webhook_oldest_due_seconds{",
];

/// Series with their values.
#[derive(Default)]
pub struct Scrape(BTreeMap<String, f64>);

impl Scrape {
    /// `None` while the instance is away.
    pub async fn of(client: &Client, address: SocketAddr) -> Option<Self> {
        let text = client.get(format!("http://{address}/metrics")).send().await.ok()?.text().await.ok()?;
        let wanted = text.lines().filter(|line| WANTED.iter().any(|name| line.starts_with(name)));
        let series = wanted.map(|line| line.rsplit_once(' ').expect("a series has a value"));
        Some(Self(series.map(|(series, value)| (series.to_owned(), value.parse().unwrap())).collect()))
    }

    /// The values of a gauge, of which the greatest counts.
    pub fn greatest(&self, name: &str) -> f64 {
        self.0.iter().filter(|(series, _)| name_of(series) == name).map(|(_, value)| *value).fold(0.0, f64::max)
    }

    /// Counters, with what was added to them since an earlier scrape. One that is smaller than it was began at 0 with a new process.
    pub fn added_since<'a>(&'a self, earlier: &Self, name: &str) -> impl Iterator<Item = (&'a str, f64)> {
        self.0.iter().filter(move |(series, _)| name_of(series) == name).map(|(series, value)| {
            let before = earlier.0.get(series).filter(|before| *before <= value).unwrap_or(&0.0);
            (series.as_str(), value - before)
        })
    }
}

fn name_of(series: &str) -> &str {
    series.split('{').next().unwrap_or(series)
}

/// The value of a label. Those of routes have braces.
pub fn label<'a>(series: &'a str, name: &str) -> &'a str {
    let begins = format!("{name}=\"");
    let place = series.match_indices(&begins).find(|(place, _)| series[..*place].ends_with(['{', ',']));
    place.and_then(|(place, _)| series[place + begins.len()..].split('"').next()).unwrap_or_default()
}

/// The kind of request that a series is about; `None` if nobody of the shop sends it.
pub fn call(series: &str) -> Option<Call> {
    Call::ALL.into_iter().find(|call| call.route() == (label(series, "method"), label(series, "route")))
}

/// How many requests took at most so many seconds.
#[derive(Default)]
pub struct Histogram(Vec<(f64, f64)>);

impl Histogram {
    pub fn add(&mut self, at_most: f64, count: f64) {
        match self.0.binary_search_by(|(bound, _)| bound.total_cmp(&at_most)) {
            Ok(place) => self.0[place].1 += count,
            Err(place) => self.0.insert(place, (at_most, count)),
        }
    }

    /// The time at this percentile in seconds, interpolated as Prometheus does; `None` without requests.
    pub fn percentile(&self, share: f64) -> Option<f64> {
        let rank = share * self.0.last().filter(|(_, all)| *all > 0.0)?.1;
        let place = self.0.iter().position(|(_, count)| *count >= rank)?;
        let (low, below) = place.checked_sub(1).map_or((0.0, 0.0), |before| self.0[before]);
        let (high, count) = self.0[place];
        Some(if high.is_finite() { low + (high - low) * (rank - below) / (count - below).max(1.0) } else { low })
    }
}
