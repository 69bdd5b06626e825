//! One piece of work, from when it begins until it is dropped.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use opentelemetry::trace::{SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue, Value};
use opentelemetry_sdk::trace::{BatchSpanProcessor, IdGenerator, RandomIdGenerator, SpanData, SpanEvents, SpanLinks, SpanProcessor};

use crate::kernel::request_id::RequestId;
use crate::kernel::traces::TraceContext;
use crate::kernel::traces::places::Places;

/// The random bits of a request's id that decide about its trace.
const CHANCE_BITS: u32 = 56;

/// Takes the spans that have ended, and decides whose traces are recorded.
#[derive(Debug)]
pub struct Recorder {
    pub processor: BatchSpanProcessor,
    pub places: Arc<Places>,
    /// How many of the values of [`CHANCE_BITS`] are admitted.
    admitted: u64,
    ids: RandomIdGenerator,
}

impl Recorder {
    pub fn new(processor: BatchSpanProcessor, places: Arc<Places>, ratio: f64) -> Self {
        let values = (1_u64 << CHANCE_BITS) as f64;
        Self { processor, places, admitted: (ratio * values) as u64, ids: RandomIdGenerator::default() }
    }

    /// Whether the trace of a request is recorded, as far as it is up to us.
    pub fn admits(&self, request: RequestId) -> bool {
        let (_, chance) = request.uuid().as_u64_pair();
        chance & ((1 << CHANCE_BITS) - 1) < self.admitted
    }

    fn record(&self, span: SpanData) {
        if self.places.take() {
            self.processor.on_end(span);
        }
    }
}

/// Where a span hangs.
#[derive(Clone, Copy, Debug)]
pub enum Below {
    /// It is the first of this trace.
    Nothing(TraceId),
    /// Below a span of this task.
    Local(TraceContext),
    /// Below a span of another program, instance or time.
    Remote(TraceContext),
}

/// When a piece of work begins.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    pub(super) at: DateTime<Utc>,
    pub(super) instant: Instant,
}

impl Moment {
    /// This moment, at which the clock shows `now`.
    pub fn now(now: DateTime<Utc>) -> Self {
        Self { at: now, instant: Instant::now() }
    }

    /// How long ago it was.
    pub fn elapsed(self) -> Duration {
        self.instant.elapsed()
    }
}

/// A piece of work that is recorded. Dropping it ends it. It must contain nothing that a log line must not contain either.
#[derive(Debug)]
pub struct Span {
    pub(super) recorder: Arc<Recorder>,
    pub(super) began: Moment,
    context: TraceContext,
    /// Taken when the span ends.
    data: Option<SpanData>,
}

impl Span {
    pub(super) fn begin(recorder: &Arc<Recorder>, below: Below, kind: SpanKind, name: impl Into<Cow<'static, str>>, began: Moment) -> Self {
        let (trace, parent, is_remote) = match below {
            Below::Nothing(trace) => (trace, SpanId::INVALID, false),
            Below::Local(parent) => (parent.trace, parent.span, false),
            Below::Remote(parent) => (parent.trace, parent.span, true),
        };
        let context = TraceContext { trace, span: recorder.ids.new_span_id() };
        let data = SpanData {
            span_context: SpanContext::new(trace, context.span, TraceFlags::SAMPLED, false, TraceState::NONE),
            parent_span_id: parent,
            parent_span_is_remote: is_remote,
            span_kind: kind,
            name: name.into(),
            start_time: began.at.into(),
            end_time: began.at.into(),
            attributes: Vec::new(),
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: Status::Unset,
            instrumentation_scope: InstrumentationScope::builder("portico").build(),
        };
        Self { recorder: Arc::clone(recorder), began, context, data: Some(data) }
    }

    /// The name of this span, for what hangs below it.
    pub fn context(&self) -> TraceContext {
        self.context
    }

    /// Changes what the work is called.
    pub fn rename(&mut self, name: String) {
        if let Some(data) = &mut self.data {
            data.name = name.into();
        }
    }

    /// Adds a fact about the work.
    pub fn set(&mut self, key: &'static str, value: impl Into<Value>) {
        if let Some(data) = &mut self.data {
            data.attributes.push(KeyValue::new(key, value));
        }
    }

    /// Marks the work as failed.
    pub fn fail(&mut self, reason: impl Into<Cow<'static, str>>) {
        if let Some(data) = &mut self.data {
            data.status = Status::error(reason);
        }
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        if let Some(mut data) = self.data.take() {
            data.end_time = data.start_time + self.began.elapsed();
            self.recorder.record(data);
        }
    }
}
