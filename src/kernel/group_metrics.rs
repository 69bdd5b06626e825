//! What is measured of group commits ([`group_commit`](crate::kernel::group_commit)).

use crate::kernel::metrics::{Counter, Gauge, Histogram, Registry, durations};

/// The upper bounds of group sizes, in items.
const SIZES: [f64; 8] = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0];

crate::labels! {
    /// The queue.
    pub struct QueueLabels {
        /// What waits in it.
        pub queue: &'static str,
    }
}

/// The metrics of one queue. Clones share them.
#[derive(Clone, Debug)]
pub struct GroupMetrics {
    /// Items that wait for a group.
    pub waiting: Gauge,
    /// How long items have waited until their group was written.
    pub waited: Histogram,
    /// Items of the groups that were written.
    pub sizes: Histogram,
    /// Items that were refused.
    pub refused: Counter,
}

impl Default for GroupMetrics {
    fn default() -> Self {
        Self { waiting: Gauge::default(), waited: durations(), sizes: Histogram::new(SIZES), refused: Counter::default() }
    }
}

/// Registers what is measured of these queues.
pub fn register(registry: &mut Registry, queues: &[(&'static str, &GroupMetrics)]) {
    let labels = |queue| QueueLabels { queue };
    let waiting = queues.iter().map(|&(queue, metrics)| (labels(queue), metrics.waiting.clone())).collect();
    registry.each("portico_group_queue_waiting", "Items that wait to be written in a group", waiting);
    let waited = queues.iter().map(|&(queue, metrics)| (labels(queue), metrics.waited.clone())).collect();
    registry.each("portico_group_queue_wait_seconds", "Time until the group of an item was begun", waited);
    let sizes = queues.iter().map(|&(queue, metrics)| (labels(queue), metrics.sizes.clone())).collect();
    registry.each("portico_group_size", "Items that were written in one group", sizes);
    let refused = queues.iter().map(|&(queue, metrics)| (labels(queue), metrics.refused.clone())).collect();
    registry.each("portico_group_queue_refused", "Items that found the queue full or waited in it for too long", refused);
}
