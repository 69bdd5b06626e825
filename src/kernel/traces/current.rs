//! The span that a task works on.

use std::borrow::Cow;
use std::sync::Arc;

use opentelemetry::trace::SpanKind;

use crate::kernel::traces::span::{Below, Moment, Recorder};
use crate::kernel::traces::{Span, TraceContext};

tokio::task_local! {
    static CURRENT: Option<Current>;
}

#[derive(Clone)]
struct Current {
    recorder: Arc<Recorder>,
    context: TraceContext,
    began: Moment,
}

/// Does `work` as part of `span`, if it is recorded.
pub async fn within<T>(span: Option<&Span>, work: impl Future<Output = T>) -> T {
    let current = span.map(|span| Current { recorder: Arc::clone(&span.recorder), context: span.context(), began: span.began });
    CURRENT.scope(current, work).await
}

/// Does `work`, on whatever task, as part of the span that this task works on.
pub fn carried<F: Future>(work: F) -> impl Future<Output = F::Output> {
    CURRENT.scope(current(), work)
}

/// The span that this task works on, if it is recorded.
pub fn context() -> Option<TraceContext> {
    CURRENT.try_with(|current| current.as_ref().map(|current| current.context)).ok().flatten()
}

/// Begins a part of the work that this task does, if it is recorded.
pub fn part(kind: SpanKind, name: impl Into<Cow<'static, str>>, began: Moment) -> Option<Span> {
    let Current { recorder, context, .. } = current()?;
    Some(Span::begin(&recorder, Below::Local(context), kind, name, began))
}

/// Begins a part now. The time is that of the clock which the span of this task began with.
pub fn part_now(kind: SpanKind, name: impl Into<Cow<'static, str>>) -> Option<Span> {
    let Moment { at, instant } = current()?.began;
    part(kind, name, Moment::now(at + instant.elapsed()))
}

fn current() -> Option<Current> {
    CURRENT.try_with(Clone::clone).ok().flatten()
}
