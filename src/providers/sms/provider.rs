//! A provider of the settings or of a company, with its circuit breaker.

use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};
use tokio::sync::Semaphore;
use url::Url;

use crate::kernel::ids::MessageProviderId;
use crate::providers::sms::breaker::Breaker;
use crate::providers::sms::exchange::Receipt;
use crate::providers::sms::failure::{SendTextError, SendTextErrorKind};
use crate::providers::sms::metrics::Metrics;
use crate::providers::sms::providers::Client;
use crate::providers::sms::{DeliveryReceipt, NotGenuine, ProviderName, ReceivedReceipt, Reporter, Settings, SettingsError, Text, breaker};

/// The texts that one company's provider is asked to send at the same time, for each instance.
const MAX_AT_ONCE: usize = 50;

/// A provider with its circuit breaker.
#[derive(Debug)]
pub(super) struct Provider {
    /// Which one it is, as it reports of texts.
    reporter: Reporter,
    client: Client,
    breaker: Mutex<Breaker>,
    /// How many texts it may be asked to send at the same time. A provider of the settings has no such limit.
    places: Option<Semaphore>,
    metrics: Metrics,
}

impl Provider {
    pub(super) fn new(name: ProviderName, settings: &Settings, metrics: Metrics) -> Result<Self, SettingsError> {
        let client = Client::new(name, settings)?;
        let breaker = Mutex::new(Breaker::new(settings.breaker));
        Ok(Self { reporter: Reporter::OfSettings(name), client, breaker, places: None, metrics })
    }

    /// The provider of a company.
    pub(super) fn own(id: MessageProviderId, client: Client, breaker: breaker::Settings, metrics: Metrics) -> Self {
        let places = Some(Semaphore::new(MAX_AT_ONCE));
        Self { reporter: Reporter::Own(id), client, breaker: Mutex::new(Breaker::new(breaker)), places, metrics }
    }

    /// Which one it is, as it reports of texts.
    pub(super) fn reporter(&self) -> Reporter {
        self.reporter
    }

    pub(super) fn name(&self) -> &'static str {
        self.reporter.label()
    }

    pub(super) fn address(&self) -> Option<Url> {
        self.client.address()
    }

    /// Whether the breaker admits a text now.
    pub(super) fn admits(&self, now: DateTime<Utc>) -> bool {
        self.breaker().admits(now)
    }

    /// When the open breaker admits the next text.
    pub(super) fn next_trial(&self) -> Option<DateTime<Utc>> {
        self.breaker().next_trial()
    }

    /// Reads a receipt that was sent to this URL.
    pub(super) fn read_receipt(&self, url: &str, received: &ReceivedReceipt<'_>) -> Result<Option<DeliveryReceipt>, NotGenuine> {
        self.client.read_receipt(url, received)
    }

    /// Sends a text and records the outcome in the breaker. Returns what the provider calls the text, if it says so; it reports of it to
    /// `callback`.
    pub(super) async fn send(&self, text: &Text<'_>, callback: Option<&str>) -> Result<Option<String>, SendTextError> {
        let place = self.places.as_ref().map(Semaphore::try_acquire).transpose();
        let _place = place.map_err(|_| SendTextError::new(SendTextErrorKind::RateLimited, "too many texts at the same time"))?;
        let sent = self.client.send(text, callback).await;
        let outcome = match &sent {
            Ok(Receipt::Taken(_)) => "taken",
            Ok(Receipt::Silence) => "silence",
            Err(error) if error.kind.is_about_the_number() => "number_refused",
            Err(_) => "failed",
        };
        self.metrics.count(self.name(), outcome);
        match &sent {
            Ok(Receipt::Taken(_)) => self.breaker().note_health(),
            // A provider that rejects the number works.
            Err(error) if error.kind.is_about_the_number() => self.breaker().note_health(),
            // This text is not sent again, but the next ones should go to a provider that responds.
            Ok(Receipt::Silence) => self.note_failure("silence", text.at),
            Err(error) if error.kind.is_a_failure_of_the_provider() => self.note_failure(&error.to_string(), text.at),
            // It may have refused this text alone.
            Err(error) => self.log(&error.to_string()),
        }
        sent.map(|receipt| match receipt {
            Receipt::Taken(message) => message,
            Receipt::Silence => None,
        })
    }

    fn log(&self, reason: &str) {
        tracing::warn!(provider = self.name(), reason, "a provider did not accept a text");
    }

    fn note_failure(&self, reason: &str, now: DateTime<Utc>) {
        let provider = self.name();
        self.log(reason);
        if self.breaker().note_failure(now) {
            tracing::warn!(provider, "the circuit breaker of a provider opened; the provider is skipped for a while");
        }
    }

    fn breaker(&self) -> MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
