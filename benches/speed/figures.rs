//! Measured figures: one line each, with the aim.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

/// The aim of a figure.
#[derive(Clone, Copy, Debug)]
pub enum Aim {
    AtLeast(f64),
    AtMost(f64),
    /// The same for a tail latency. A single stall of a shared disk can make it arbitrarily large, so missing it by far is not a
    /// failure.
    TailAtMost(f64),
    /// No aim; the figure is only printed.
    Stated,
}

/// A figure that misses its aim by this factor is a failure, whatever else the machine is doing. The aims are those of an optimized program.
const ABSURD: f64 = if cfg!(debug_assertions) { f64::INFINITY } else { 10.0 };

impl Aim {
    fn missed_by(self, value: f64) -> f64 {
        match self {
            Self::AtLeast(aim) => aim / value,
            Self::AtMost(aim) | Self::TailAtMost(aim) => value / aim,
            Self::Stated => 0.0,
        }
    }
}

/// The figures of one run.
pub struct Figures {
    pub quick: bool,
    absurd: Vec<String>,
    noted: BTreeMap<String, f64>,
}

impl Figures {
    pub fn new(quick: bool) -> Self {
        Self { quick, absurd: Vec::new(), noted: BTreeMap::new() }
    }

    /// A number of items: `full`, or `quick` in a quick run.
    pub fn many(&self, full: usize, quick: usize) -> usize {
        if self.quick { quick } else { full }
    }

    /// The duration of one measurement.
    pub fn time(&self, seconds: u64) -> Duration {
        if self.quick { Duration::from_millis(500) } else { Duration::from_secs(seconds) }
    }

    /// Prints a figure with its aim and its parts.
    pub fn show(&mut self, name: &str, value: f64, aim: Aim, parts: &str) {
        let missed_by = aim.missed_by(value);
        let verdict = match aim {
            Aim::AtLeast(aim) => format!("aim ≥ {aim}{}", if missed_by > 1.0 { ", missed" } else { "" }),
            Aim::AtMost(aim) | Aim::TailAtMost(aim) => format!("aim ≤ {aim}{}", if missed_by > 1.0 { ", missed" } else { "" }),
            Aim::Stated => "stated".to_owned(),
        };
        println!("{name}: {} ({verdict}): {parts}", short(value));
        self.note(name, value);
        if !value.is_finite() || (missed_by > ABSURD && !matches!(aim, Aim::TailAtMost(_))) {
            self.absurd.push(name.to_owned());
        }
    }

    /// Notes a figure that depends on the machine, so that it only says something beside that of another program.
    pub fn note(&mut self, name: &str, value: f64) {
        self.noted.insert(name.to_owned(), value);
    }

    /// All figures by name, whether they were printed or only noted.
    pub fn noted(self) -> BTreeMap<String, f64> {
        self.noted
    }

    /// Fails if a figure was absurdly far off its aim.
    pub fn end(self) -> ExitCode {
        if self.absurd.is_empty() {
            return ExitCode::SUCCESS;
        }
        eprintln!("far off their aims: {}", self.absurd.join(", "));
        ExitCode::FAILURE
    }
}

/// Two decimals for small values, none for large ones.
pub fn short(value: f64) -> String {
    if value.abs() >= 100.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

/// A duration in milliseconds.
pub fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
