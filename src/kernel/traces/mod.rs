//! Traces: what one request did, here and later on other instances, as spans that a collector puts together.
//!
//! A [`Span`] is one piece of work with a beginning and an end. A [`TraceContext`] names a span, so that others can hang below it: in the
//! header `traceparent` between programs (W3C Trace Context), in 24 bytes with an event. The span that a task works on is kept with the
//! task ([`current`]), so what happens on the way of a request need not be told about traces to take part in them.
//!
//! Whether a trace is recorded is decided once, at its request: by the ratio of the settings, and by chance of our own, because a stranger can
//! choose the id of a trace and say that it is recorded. All else follows from it: what has no context to hang below records nothing.
//!
//! OpenTelemetry's SDK has the queue and the encoding, and [`export`] posts to the collector. The queue is bounded, and a span that finds
//! it full is lost: nobody who ends a span waits for the collector. [`places`] counts what is lost. There is no process global.
//!
//! # Rooms
//!
//! From top to bottom; a room uses only rooms below it.
//!
//! ```text
//! current     the span that a task works on
//! span        one piece of work
//! export      the way to the collector
//! places      how many spans may wait, and which were lost
//! context     the name of a span
//! settings
//! ```

mod context;
mod current;
mod export;
mod places;
mod settings;
mod span;

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName};
use opentelemetry::trace::TraceId;
use opentelemetry_sdk::trace::{BatchConfigBuilder, BatchSpanProcessor, SpanProcessor};
use tokio::task::spawn_blocking;

use crate::kernel::metrics::Registry;
use crate::kernel::request_id::RequestId;
use crate::kernel::traces::export::Collector;
use crate::kernel::traces::places::{MAX_WAITING, Places};
use crate::kernel::traces::span::{Below, Recorder};

pub use context::TraceContext;
pub use current::{carried, context, part, part_now, within};
pub use opentelemetry::trace::SpanKind;
pub use settings::{Settings, SettingsError};
pub use span::{Moment, Span};

/// The header that names the span which a request is part of.
pub const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// Maximum number of spans of one request to the collector.
const BATCH: usize = 512;
/// How long a span waits for others at most.
const DELAY: Duration = Duration::from_secs(2);
/// How long the end of the program waits for the collector at most.
const FLUSH_TIME: Duration = Duration::from_secs(5);

/// Records spans, or nothing. Clones share the queue.
#[derive(Clone, Debug, Default)]
pub struct Traces(Option<Arc<Recorder>>);

impl Traces {
    /// Begins to record if the settings name a collector. Must be called within the runtime, which sends the spans.
    pub fn start(settings: &Settings) -> Result<Self, SettingsError> {
        let places = Arc::<Places>::default();
        let Some(collector) = Collector::new(settings, Arc::clone(&places))? else { return Ok(Self::default()) };
        let queue = BatchConfigBuilder::default().with_max_queue_size(MAX_WAITING).with_max_export_batch_size(BATCH);
        let processor = BatchSpanProcessor::new(collector, queue.with_scheduled_delay(DELAY).build());
        Ok(Self(Some(Arc::new(Recorder::new(processor, places, settings.ratio)))))
    }

    /// Registers what is counted of spans.
    pub fn register(&self, registry: &mut Registry) {
        self.0.as_ref().map(|recorder| Arc::clone(&recorder.places)).unwrap_or_default().register(registry);
    }

    /// Whether anything is recorded.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Begins the span of a request, if its trace is recorded. It hangs below the span that the caller names; if the caller names none, the id
    /// of the trace is that of the request. A caller can say that a trace is not recorded, and cannot say that it is.
    pub fn request(&self, id: RequestId, headers: &HeaderMap, began: Moment) -> Option<Span> {
        let recorder = self.0.as_ref()?;
        let caller = TraceContext::of_caller(headers);
        if caller.is_some_and(|caller| !caller.is_recorded) || !recorder.admits(id) {
            return None;
        }
        let below = match caller {
            Some(caller) => Below::Remote(caller.context),
            None => Below::Nothing(TraceId::from(id.uuid().as_u128())),
        };
        Some(Span::begin(recorder, below, SpanKind::Server, "request", began))
    }

    /// Begins a span that follows from an earlier one, perhaps of another instance.
    pub fn following(&self, earlier: TraceContext, kind: SpanKind, name: String, began: Moment) -> Option<Span> {
        Some(Span::begin(self.0.as_ref()?, Below::Remote(earlier), kind, name, began))
    }

    /// Sends what waits, for five seconds at most, and records nothing further.
    pub async fn stop(&self) {
        let Some(recorder) = self.0.clone() else { return };
        // The queue is emptied by a thread, which this would otherwise keep from sending.
        let stopping = spawn_blocking(move || recorder.processor.shutdown_with_timeout(FLUSH_TIME).is_ok());
        if !stopping.await.is_ok_and(|stopped| stopped) {
            tracing::warn!("the last spans may not have reached the collector of traces");
        }
    }
}
