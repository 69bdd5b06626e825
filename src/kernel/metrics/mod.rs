//! Metrics: what is counted and measured, for the `/metrics` that Prometheus reads.
//!
//! A part declares its metrics as a struct of counters, gauges and histograms, keeps it in its state and counts in it. The composition root
//! makes one [`Registry`] and passes it to every part, which registers its metrics under their names. Nothing is global: a test has the
//! metrics of its own world.
//!
//! # Labels
//!
//! The values of a label are known when the program is built or started: words of an enum, names of providers and drivers, routes, and the
//! names of statements. None of them comes from a request, so the number of series is bounded and no series says anything about a person or a
//! company. [`labels!`](crate::labels) declares the labels of a metric; a label whose values are not literals says there why they are few.
//!
//! # Series that are there from the start
//!
//! A counter whose labels take known words has all of its series from the start ([`Registry::counters`]). An alert asks for the increase of a
//! series, and a series that appears with its first event has not increased. What has too many labels to make them all, such as routes with their
//! statuses, is registered like any other metric, and no alert may wait for its first event.
//!
//! # Where a figure comes from
//!
//! What happens in this process is counted where it happens. What the process has at the moment (connections in use, permits) is
//! [read](Registry::read) when `/metrics` is asked for, so nothing has to be kept up to date. What is in the database is asked from there, at
//! most every few seconds and in bounded time; without an answer these series are absent.

mod joined;
mod process;
mod read;
mod tail_hasher;

use std::fmt;
use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter as AnyCounter;
use prometheus_client::metrics::family::MetricConstructor;
use prometheus_client::metrics::gauge::Gauge as AnyGauge;
use prometheus_client::registry::{self, Metric};

pub use joined::joined;
pub use prometheus_client::metrics::family::Family;
pub use prometheus_client::metrics::histogram::Histogram;
pub use read::{Each, Kind};
pub use tail_hasher::TailHasher;

use read::Read;

/// A number of what has happened since the program started.
pub type Counter = AnyCounter;
/// A number of what there is now.
pub type Gauge = AnyGauge;
/// A point in time or a duration, in seconds.
pub type Seconds = AnyGauge<f64, AtomicU64>;

/// The media type of what [`Registry::render`] writes.
pub const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The upper bounds of durations, in seconds: from a cached look-up to the time limit of a request.
const DURATIONS: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];

/// A histogram of durations in seconds.
pub fn durations() -> Histogram {
    Histogram::new(DURATIONS)
}

/// A family of histograms of durations in seconds.
pub type Durations<L> = Family<L, Histogram, fn() -> Histogram>;

/// No durations yet.
pub fn durations_by<L: Labels>() -> Durations<L> {
    Family::new_with_constructor(durations)
}

/// The labels of a metric.
pub trait Labels: EncodeLabelSet + Clone + std::hash::Hash + Eq + fmt::Debug + Send + Sync + 'static {
    /// Their names.
    const NAMES: &'static [&'static str];
}

/// No labels.
pub type Unlabelled = [(&'static str, &'static str); 0];

impl Labels for Unlabelled {
    const NAMES: &'static [&'static str] = &[];
}

/// Declares the labels of a metric as a struct with a field for each.
#[macro_export]
macro_rules! labels {
    ($(#[$doc:meta])* pub struct $Labels:ident { $($(#[$field_doc:meta])* pub $name:ident: $Value:ty,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Hash, PartialEq, Eq, prometheus_client::encoding::EncodeLabelSet)]
        pub struct $Labels {
            $($(#[$field_doc])* pub $name: $Value,)+
        }

        impl $crate::kernel::metrics::Labels for $Labels {
            const NAMES: &'static [&'static str] = &[$(stringify!($name)),+];
        }
    };
}

/// A metric as it is declared.
pub trait Declared: Metric + Clone {
    /// What it is.
    const KIND: Kind;
    /// The names of its labels.
    const LABELS: &'static [&'static str];
}

impl Declared for Counter {
    const KIND: Kind = Kind::Counter;
    const LABELS: &'static [&'static str] = &[];
}

impl Declared for Gauge {
    const KIND: Kind = Kind::Gauge;
    const LABELS: &'static [&'static str] = &[];
}

impl Declared for Histogram {
    const KIND: Kind = Kind::Histogram;
    const LABELS: &'static [&'static str] = &[];
}

impl Declared for Seconds {
    const KIND: Kind = Kind::Gauge;
    const LABELS: &'static [&'static str] = &[];
}

impl<L: Labels, M, C> Declared for Family<L, M, C>
where
    M: Declared + prometheus_client::metrics::TypedMetric,
    C: MetricConstructor<M> + Clone + Send + Sync + 'static,
{
    const KIND: Kind = M::KIND;
    const LABELS: &'static [&'static str] = L::NAMES;
}

/// What a metric is, as the documentation lists it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Description {
    /// The name of its series. Those of a histogram have `_bucket`, `_sum` and `_count` behind it.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// The names of its labels.
    pub labels: &'static [&'static str],
}

/// All metrics of a process.
#[derive(Debug, Default)]
pub struct Registry {
    metrics: registry::Registry,
    descriptions: Vec<Description>,
}

impl Registry {
    /// Adds a metric. `help` is a sentence without its full stop. The series of a counter get `_total` behind the name.
    pub fn register<M: Declared>(&mut self, name: &str, help: &str, metric: &M) {
        self.add(name, help, M::KIND, M::LABELS, metric.clone());
    }

    /// Adds a counter with all the labels that it may have, so that each of its series is 0 before it counts something.
    pub fn counters<L: Labels>(&mut self, name: &str, help: &str, counters: &Family<L, Counter>, known: impl IntoIterator<Item = L>) {
        for labels in known {
            drop(counters.get_or_create(&labels));
        }
        self.register(name, help, counters);
    }

    /// Adds metrics of the same kind that several parts have, told apart by labels.
    pub fn each<L: Labels, M>(&mut self, name: &str, help: &str, metrics: Vec<(L, M)>)
    where
        M: Declared + prometheus_client::metrics::TypedMetric,
    {
        self.add(name, help, M::KIND, L::NAMES, Each(metrics));
    }

    /// Adds a metric whose values are read when they are asked for. No values: the series are absent.
    pub fn read<L: Labels>(&mut self, name: &str, help: &str, kind: Kind, values: impl Fn() -> Vec<(L, f64)> + Send + Sync + 'static) {
        self.add(name, help, kind, L::NAMES, Read { kind, values });
    }

    /// Adds a gauge without labels whose value is read when it is asked for.
    pub fn gauge(&mut self, name: &str, help: &str, value: impl Fn() -> Option<f64> + Send + Sync + 'static) {
        self.read::<Unlabelled>(name, help, Kind::Gauge, move || value().map(|value| ([], value)).into_iter().collect());
    }

    fn add(&mut self, name: &str, help: &str, kind: Kind, labels: &'static [&'static str], metric: impl Metric) {
        let series = if kind == Kind::Counter { format!("{name}_total") } else { name.to_owned() };
        self.descriptions.push(Description { name: series, kind, labels });
        self.metrics.register(name, help, metric);
    }

    /// Adds what the system knows of this process.
    pub fn register_process(&mut self) {
        process::register(self);
    }

    /// Every metric, in the order in which they were added.
    pub fn descriptions(&self) -> &[Description] {
        &self.descriptions
    }

    /// All series, in the text format of OpenMetrics ([`MEDIA_TYPE`]).
    pub fn render(&self) -> String {
        let mut text = String::new();
        text::encode(&mut text, &self.metrics).expect("writing to a text does not fail");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::labels! {
        /// Of cakes.
        pub struct Cake {
            /// What it tastes of.
            pub taste: &'static str,
        }
    }

    #[test]
    fn a_metric_is_written_and_described_with_its_labels() {
        let (mut registry, baked, eaten) = (Registry::default(), Family::<Cake, Counter>::default(), Counter::default());
        registry.counters("cakes_baked", "Cakes that were baked", &baked, ["apple", "cherry"].map(|taste| Cake { taste }));
        registry.each("cakes_eaten", "Cakes that were eaten", vec![(Cake { taste: "plum" }, eaten.clone())]);
        registry.gauge("ovens", "Ovens that are on", || Some(2.0));
        registry.gauge("cooks", "Cooks that are there", || None);
        baked.get_or_create(&Cake { taste: "apple" }).inc();
        eaten.inc_by(3);
        let text = registry.render();
        for line in [
            "cakes_baked_total{taste=\"apple\"} 1",
            "cakes_baked_total{taste=\"cherry\"} 0",
            "cakes_eaten_total{taste=\"plum\"} 3",
            "ovens 2.0",
            "# HELP ovens Ovens that are on.",
        ] {
            assert!(text.lines().any(|written| written == line), "{line} in {text}");
        }
        assert!(!text.contains("\ncooks "), "{text}");
        let described: Vec<_> = registry.descriptions().iter().map(|it| (it.name.as_str(), it.kind, it.labels)).collect();
        let taste: &[&str] = &["taste"];
        assert_eq!(
            described,
            [
                ("cakes_baked_total", Kind::Counter, taste),
                ("cakes_eaten_total", Kind::Counter, taste),
                ("ovens", Kind::Gauge, &[]),
                ("cooks", Kind::Gauge, &[]),
            ]
        );
    }
}
