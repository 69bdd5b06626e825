//! Texts: the configured SMS providers, tried in order.
//!
//! A provider that is unavailable, over its rate limit or refuses the credentials *did not accept* a text: the next one is tried.
//! If a provider reports that the number cannot receive texts, no other provider is tried, because none could reach it. A provider
//! that does not respond in time may have accepted the text, which therefore counts as sent.
//!
//! Each provider has a circuit breaker ([`breaker`]): after several consecutive failures it is skipped for a while. A text that it refuses is no
//! failure of it ([`SendTextErrorKind`]).
//!
//! Guaranteed: a breaker only decides which provider is tried first. If all breakers are open, the provider with the earliest
//! trial is tried nevertheless: for a customer that waits for a code, an attempt is better than a refusal.
//!
//! Not guaranteed: breakers are in memory, per instance. Every instance detects a failing provider by itself, at the cost of a
//! few texts, which needs no coordination.
//!
//! A company may have a provider of its own ([`own`]), which is tried before those of the settings or in their place.

pub(super) mod breaker;
mod exchange;
mod failure;
mod metrics;
mod own;
mod provider;
mod providers;
mod receipt;
pub mod segment;
mod settings;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use crate::contact::PhoneNumber;
use crate::kernel::crypto::ApplicationKey;
use crate::kernel::metrics::{Kind, Registry};
use crate::providers::hook::About;
use crate::providers::mailbox::{Captured, Channel, Mailbox};
use failure::SendTextError;
use metrics::{Metrics, ProviderLabels};
use provider::Provider;
use receipt::Receipts;

pub use failure::{ProviderAnswer, SendTextErrorKind, TextNotSent};
pub use own::{OwnSettings, OwnSms};
pub use providers::{OwnHttpSettings, ProviderName, Settings};
pub use receipt::{Delivery, DeliveryReceipt, NotGenuine, PATH as RECEIPTS_PATH, ReceivedReceipt, Reporter};
pub use settings::SettingsError;

/// A text to one number.
pub struct Text<'a> {
    /// The number of the recipient.
    pub to: &'a PhoneNumber,
    /// The body of the text.
    pub body: &'a str,
    /// The verification code in the body. Only the mailbox and hooks use it.
    pub code: Option<&'a SecretString>,
    /// What the text is for.
    pub about: About<'a>,
    /// When the text is sent.
    pub at: DateTime<Utc>,
}

/// A text that a provider has taken, and will report of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenText {
    /// Who reports of it.
    pub provider: Reporter,
    /// What the provider calls the text.
    pub message: String,
}

/// Sends texts, if a provider or the mailbox is configured ([`Sms::is_available`]). Clones share the breakers.
#[derive(Clone, Debug)]
pub struct Sms {
    providers: Arc<[Arc<Provider>]>,
    mailbox: Option<Mailbox>,
    receipts: Option<Receipts>,
    metrics: Metrics,
    /// What providers of companies have in common with those of the settings: addresses, timeouts, circuit breakers.
    settings: Arc<Settings>,
}

impl Sms {
    /// Creates the clients from the settings. With a mailbox, every text is also stored there, and no provider is required.
    pub fn new(settings: &Settings, mailbox: Option<Mailbox>) -> Result<Self, SettingsError> {
        let metrics = Metrics::default();
        let built = settings.providers.iter().map(|name| Provider::new(*name, settings, metrics.clone()).map(Arc::new));
        let providers = built.collect::<Result<_, _>>()?;
        Ok(Self { providers, mailbox, receipts: None, metrics, settings: Arc::new(settings.clone()) })
    }

    /// Has providers report of texts, if `sms.receipts_url` says where. The key makes the tokens of the addresses.
    pub fn with_receipts(self, settings: &Settings, key: &ApplicationKey) -> Self {
        let receipts = settings.receipts_url.clone().map(|base| Receipts::new(base, key.clone()));
        Self { receipts, ..self }
    }

    /// Registers what is measured of the providers.
    pub fn register(&self, registry: &mut Registry) {
        self.metrics.register(registry, self.providers.iter().map(|provider| provider.name()));
        let providers = Arc::clone(&self.providers);
        let open = move || {
            let is_open = |provider: &Provider| f64::from(u8::from(provider.next_trial().is_some()));
            providers.iter().map(|provider| (ProviderLabels { provider: provider.name() }, is_open(provider))).collect()
        };
        registry.read("portico_sms_breaker_open", "Whether the provider is skipped because it failed", Kind::Gauge, open);
    }

    /// Whether a provider or the mailbox is configured.
    pub fn is_available(&self) -> bool {
        !self.providers.is_empty() || self.mailbox.is_some()
    }

    /// The providers in their order, each with its URL. The `log` provider has none.
    pub fn addresses(&self) -> impl Iterator<Item = (&'static str, Option<Url>)> {
        self.providers.iter().map(|provider| (provider.name(), provider.address()))
    }

    /// Sends the text to the first provider that accepts it. Returns which one it was and what it calls the text, if it will report of it.
    pub async fn send(&self, text: Text<'_>) -> Result<Option<TakenText>, TextNotSent> {
        let taken = match self.providers.is_empty() {
            false => self.hand_over(&text).await?,
            true if self.mailbox.is_some() => None,
            true => return Err(TextNotSent { answers: Vec::new() }),
        };
        self.capture(&text);
        Ok(taken)
    }

    /// The provider that is told this address for its receipts. `None`: nobody is.
    pub fn reporting(&self, provider: &str, token: &str) -> Option<Reporter> {
        let provider = provider.parse().ok()?;
        self.receipts.as_ref()?.has_made(provider, token).then_some(provider)
    }

    /// The address for the receipts of a provider. `None`: no receipts are received.
    pub fn receipts_url(&self, provider: Reporter) -> Option<String> {
        self.receipts.as_ref().map(|receipts| receipts.url(provider))
    }

    /// Reads a receipt of a provider whose address has this token. `None`: it says nothing final.
    pub fn read_receipt(
        &self,
        (provider, token): (Reporter, &str),
        received: &ReceivedReceipt<'_>,
    ) -> Result<Option<DeliveryReceipt>, NotGenuine> {
        let (Some(receipts), Some(found)) = (&self.receipts, self.providers.iter().find(|found| found.reporter() == provider)) else {
            return Ok(None);
        };
        found.read_receipt(&receipts.url_with(provider, token), received)
    }

    async fn hand_over(&self, text: &Text<'_>) -> Result<Option<TakenText>, TextNotSent> {
        let send = async |provider: &Provider| {
            let callback = self.receipts_url(provider.reporter());
            let message = provider.send(text, callback.as_deref()).await?;
            Ok(callback.and(message).map(|message| TakenText { provider: provider.reporter(), message }))
        };
        let mut answers = Vec::new();
        // The filter runs lazily, right before each attempt: an open breaker may admit this text as its trial.
        for provider in self.providers.iter().filter(|provider| provider.admits(text.at)) {
            let error: SendTextError = match send(provider).await {
                Ok(taken) => return Ok(taken),
                Err(error) => error,
            };
            let is_final = error.kind.holds_everywhere();
            answers.push(ProviderAnswer::new(provider.name(), error));
            if is_final {
                break;
            }
        }
        if answers.is_empty() {
            let first = self.providers.iter().min_by_key(|provider| provider.next_trial());
            let first = first.expect("a text is only sent if there is a provider");
            match send(first).await {
                Ok(taken) => return Ok(taken),
                Err(error) => answers.push(ProviderAnswer::new(first.name(), error)),
            }
        }
        Err(TextNotSent { answers })
    }

    fn capture(&self, text: &Text<'_>) {
        if let Some(mailbox) = &self.mailbox {
            mailbox.capture(Captured {
                channel: Channel::Sms,
                to: text.to.to_string(),
                subject: None,
                text: text.body.to_owned(),
                html: None,
                code: text.code.map(|code| code.expose_secret().to_owned()),
                sent_at: text.at,
            });
        }
    }
}
