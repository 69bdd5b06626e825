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
    pub fn register(&self, registry: &mut Registry) {
        registry.register("portico_callbacks", "Callbacks of payment gateways", &self.0);
    }

    pub fn count(&self, driver: Option<&'static str>, outcome: &'static str) {
        self.0.get_or_create(&CallbackLabels { driver: driver.unwrap_or(NONE), outcome }).inc();
    }
}
