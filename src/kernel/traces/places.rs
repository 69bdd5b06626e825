//! The places of spans that wait for the collector, and the count of those that were lost.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::kernel::metrics::{Counter, Registry};

/// Maximum number of spans that wait for the collector, of which each takes about a kilobyte.
pub const MAX_WAITING: usize = 8_192;
/// How often the log says that spans are lost, at most: while the queue is full, that is so for every span.
const SAID_EVERY: Duration = Duration::from_secs(60);

crate::labels! {
    /// Of a span that was lost.
    pub struct LossLabels {
        /// `queue_full`, or `not_taken` by the collector.
        pub reason: &'static str,
    }
}

/// The places, which the queue has as many of. It would drop what it has no room for without a word.
#[derive(Debug, Default)]
pub struct Places {
    taken: AtomicUsize,
    queue_full: Counter,
    not_taken: Counter,
    said_at: Mutex<Option<Instant>>,
}

impl Places {
    /// Registers what is counted of losses.
    pub fn register(&self, registry: &mut Registry) {
        let lost = [("queue_full", &self.queue_full), ("not_taken", &self.not_taken)];
        let lost = lost.map(|(reason, count)| (LossLabels { reason }, count.clone()));
        registry.each("portico_trace_spans_lost", "Spans that did not reach the collector of traces", lost.into());
    }

    /// Takes a place for a span that has ended. Without one the span is lost.
    pub fn take(&self) -> bool {
        let one_more = |taken: usize| (taken < MAX_WAITING).then_some(taken + 1);
        let has_place = self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok();
        if !has_place {
            self.queue_full.inc();
            self.say();
        }
        has_place
    }

    /// So many spans are on their way to the collector.
    pub fn leave(&self, spans: usize) {
        self.taken.fetch_sub(spans, Ordering::Relaxed);
    }

    /// The collector did not take so many spans.
    pub fn not_taken(&self, spans: usize) {
        self.not_taken.inc_by(spans as u64);
    }

    fn say(&self) {
        let mut said_at = self.said_at.lock().unwrap_or_else(PoisonError::into_inner);
        if said_at.is_none_or(|said_at| said_at.elapsed() >= SAID_EVERY) {
            *said_at = Some(Instant::now());
            drop(said_at);
            let lost = self.queue_full.get();
            tracing::warn!(waiting = MAX_WAITING, lost, "the queue to the collector of traces is full: spans are lost until it takes more");
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;
    use crate::kernel::captured_log::CapturedLog;

    #[tokio::test(start_paused = true)]
    async fn a_span_without_a_place_is_counted_and_the_log_says_so_once_a_minute() {
        let (log, places, mut registry) = (CapturedLog::default(), Places::default(), Registry::default());
        places.register(&mut registry);
        let lines = log.clone();
        let _logging = tracing::subscriber::set_default(tracing_subscriber::fmt().with_writer(move || lines.clone()).finish());
        let said = || log.text().matches("spans are lost").count();

        assert!((0..MAX_WAITING).all(|_| places.take()));
        assert_eq!(said(), 0);
        assert!((0..100).all(|_| !places.take()));
        assert_eq!(said(), 1);
        advance(SAID_EVERY).await;
        assert!((0..100).all(|_| !places.take()));
        assert_eq!(said(), 2);
        places.leave(1);
        assert_eq!([places.take(), places.take()], [true, false]);
        let text = registry.render();
        assert!(text.contains("portico_trace_spans_lost_total{reason=\"queue_full\"} 201"), "{text}");
    }
}
