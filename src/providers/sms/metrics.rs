//! What is counted of texts that are handed to providers.

use crate::kernel::metrics::{Counter, Family, Registry};
use crate::providers::sms::receipt::OWN;

crate::labels! {
    /// The provider.
    pub struct ProviderLabels {
        /// Its name in the settings.
        pub provider: &'static str,
    }
}

crate::labels! {
    /// Of a text that was handed to a provider.
    pub struct HandedLabels {
        /// The name of the provider in the settings; `own` for those of all companies.
        pub provider: &'static str,
        /// `taken`, `silence`, `number_refused` or `failed`.
        pub outcome: &'static str,
    }
}

/// What can come of a text.
const OUTCOMES: [&str; 4] = ["taken", "silence", "number_refused", "failed"];

/// The counters of all providers. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Metrics(Family<HandedLabels, Counter>);

impl Metrics {
    /// Registers them, for the providers of the settings and those of companies.
    pub(super) fn register(&self, registry: &mut Registry, of_settings: impl Iterator<Item = &'static str>) {
        let handed = of_settings.chain([OWN]).flat_map(|provider| OUTCOMES.map(|outcome| HandedLabels { provider, outcome }));
        registry.counters("portico_sms_handed_over", "Texts that were handed to a provider, and what came of it", &self.0, handed);
    }

    pub(super) fn count(&self, provider: &'static str, outcome: &'static str) {
        self.0.get_or_create(&HandedLabels { provider, outcome }).inc();
    }
}
