//! The report: a line for each minute, as the metrics have it.

use std::time::Duration;

use super::call::Call;
use super::watch::Span;

/// The widths of the columns that are not about a kind of request: time, requests, failed; MiB of each instance, outbox, age, due.
const BEFORE: [usize; 3] = [5, 10, 6];
const BEHIND: [usize; 5] = [7, 7, 7, 7, 7];
/// That of a kind of request.
const TIMES: usize = 12;

pub fn head() {
    println!("\np50 / p99 in ms until the head of the response, by kind of request; the most of everything else\n");
    let calls = Call::ALL.map(|call| call.name().to_owned());
    line(
        ["time", "requests/s", "failed"].map(ToOwned::to_owned),
        calls,
        ["MiB one", "MiB two", "outbox", "its age", "due for"].map(ToOwned::to_owned),
    );
}

/// What was seen in `time` beginning with `from`, and which requests failed meanwhile.
pub fn row(from: Duration, time: Duration, span: &Span, failures: &[String]) {
    let seconds = from.as_secs();
    let before = [
        format!("{:02}:{:02}", seconds / 60, seconds % 60),
        format!("{:.0}", span.requests() / time.as_secs_f64()),
        failures.len().to_string(),
    ];
    let [one, two] = span.memory.map(|memory| format!("{memory:.0}"));
    let behind = [one, two, format!("{:.0}", span.outbox.0), format!("{:.1} s", span.outbox.1), format!("{:.1} s", span.due)];
    line(before, Call::ALL.map(|call| times(span, call)), behind);
    for failure in failures.first().into_iter().chain(failures.last()) {
        println!("       {}", failure.chars().take(200).collect::<String>());
    }
}

/// The median and the 99th percentile of a kind of request.
pub fn times(span: &Span, call: Call) -> String {
    let millis =
        |share| span.times.get(&call).and_then(|times| times.percentile(share)).map_or("-".to_owned(), |time| short(time * 1000.0));
    format!("{} / {}", millis(0.5), millis(0.99))
}

/// A decimal for small values, none for large ones.
fn short(value: f64) -> String {
    if value >= 10.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}

fn line(before: [String; 3], calls: [String; 6], behind: [String; 5]) {
    let calls = calls.into_iter().map(|call| (call, TIMES));
    let cells = before.into_iter().zip(BEFORE).chain(calls).chain(behind.into_iter().zip(BEHIND));
    println!("{}", cells.map(|(cell, width)| format!("{cell:>width$}")).collect::<Vec<_>>().join("  "));
}
