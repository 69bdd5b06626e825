//! What is counted of callbacks.

use crate::kernel::metrics::{Counter, Family, Registry};

/// The driver of a callback that belongs to no gateway.
const NONE: &str = "none";

crate::labels! {
    /// Of a callback.
    pub struct CallbackLabels {
        /// The driver of its gateway, or `none` if it belongs to no gateway.
        pub driver: &'static str,
        /// What became of it: the word of an acknowledgement, the reason of a refusal, `not_understood` or `not_recorded`.
        pub outcome: &'static str,
    }
}

/// The counters of callbacks. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Metrics(Family<CallbackLabels, Counter>);

impl Metrics {
    /// Registers the counters, for what can become of the callbacks of each driver and of those of no gateway.
    pub fn register(&self, registry: &mut Registry, drivers: &[&'static str], of_gateways: &[&'static str], of_none: &[&'static str]) {
        let labels =
            |driver, outcomes: &[&'static str]| -> Vec<_> { outcomes.iter().map(|&outcome| CallbackLabels { driver, outcome }).collect() };
        let known = drivers.iter().flat_map(|&driver| labels(driver, of_gateways)).chain(labels(NONE, of_none));
        registry.counters("portico_callbacks", "Callbacks of payment gateways", &self.0, known);
    }

    pub fn count(&self, driver: Option<&'static str>, outcome: &'static str) {
        self.0.get_or_create(&CallbackLabels { driver: driver.unwrap_or(NONE), outcome }).inc();
    }
}
