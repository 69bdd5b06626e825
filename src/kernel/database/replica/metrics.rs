//! What is measured of a standby.

use crate::kernel::database::Replica;
use crate::kernel::metrics::{Counter, Family, Registry};

crate::labels! {
    /// Of something that was read.
    pub struct ReadLabels {
        /// Where it was read: `standby`, or why `primary`: `own_write`, `not_used`, `failed`.
        pub outcome: &'static str,
    }
}

/// Where something can be read.
const OUTCOMES: [&str; 4] = ["standby", "own_write", "not_used", "failed"];

/// How often something was read, by where.
pub type Reads = Family<ReadLabels, Counter>;

/// Registers what is measured of the standby of a database. Without one, there are no values.
pub fn register(registry: &mut Registry, replica: Option<&Replica>) {
    let of = |value: fn(&Replica) -> Option<f64>| {
        let replica = replica.cloned();
        move || replica.as_ref().and_then(value)
    };
    let used = of(|replica| Some(f64::from(u8::from(replica.is_used()))));
    registry.gauge("portico_database_replica_used", "Whether lists are read from the standby", used);
    let lag = of(|replica| replica.lag().map(|lag| lag.as_secs_f64()));
    registry.gauge("portico_database_replica_lag_seconds", "Age of what the standby has, at most", lag);
    let reads = replica.map(|replica| replica.reads().clone());
    let known = OUTCOMES.map(|outcome| ReadLabels { outcome }).into_iter().filter(|_| reads.is_some());
    let help = "Lists and figures that were read, by where";
    registry.counters("portico_database_replica_reads", help, &reads.clone().unwrap_or_default(), known);
}
