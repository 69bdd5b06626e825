//! What is measured of event streams.

use crate::kernel::metrics::{Counter, Gauge, Registry};

/// The metrics of all streams of an instance. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Metrics {
    open: Gauge,
    /// Events that were sent.
    pub(super) sent: Counter,
}

/// Counts a stream until it is dropped.
#[derive(Debug)]
pub(super) struct Open(Gauge);

impl Metrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register("portico_streams_open", "Event streams that are open", &self.open);
        registry.register("portico_stream_events", "Events that were sent to event streams", &self.sent);
    }

    /// A stream begins.
    pub(super) fn begin(&self) -> Open {
        self.open.inc();
        Open(self.open.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.dec();
    }
}
