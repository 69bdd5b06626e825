//! Texts: the configured providers, asked in order.
//!
//! A provider that is out of service, over its rate or refuses our credentials *did not take* a text: the next one is asked. One that
//! knows the number takes no texts has said the last word: nobody else is asked, because nobody else could know better. One that fell
//! silent may have taken the text, which therefore counts as sent.
//!
//! Each provider stands behind a [`breaker`]: after several failures in a row it is passed over for a while. A breaker decides who is asked
//! first, never that nobody is: while all of them are open, the provider whose trial comes first is asked all the same, because a customer
//! who waits for a code is better served by a try than by a certain refusal. Breakers belong to one instance; another one has to find
//! out by itself, which costs it the same few texts and no coordination.

mod breaker;
mod exchange;
mod failure;
mod http;
mod provider;
pub mod segment;
mod settings;
mod twilio;
mod vonage;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use crate::contact::PhoneNumber;
use crate::providers::mailbox::{Channel, Kept, Mailbox};
use provider::Provider;

pub use breaker::Settings as BreakerSettings;
pub use failure::{ProviderAnswer, SendTextErrorKind, TextNotSent};
pub use http::{Format as HttpFormat, Method as HttpMethod, Settings as HttpSettings, Sign as HttpSign};
pub use settings::{BadSettings, ProviderName, Settings};
pub use twilio::Settings as TwilioSettings;
pub use vonage::Settings as VonageSettings;

/// One text to one number.
pub struct Text<'a> {
    /// Where it goes.
    pub to: &'a PhoneNumber,
    /// What it says.
    pub body: &'a str,
    /// The code in it, for the mailbox alone.
    pub code: Option<&'a SecretString>,
    /// When it is sent.
    pub at: DateTime<Utc>,
}

/// Sends texts. Without any provider and mailbox it cannot: ask [`Sms::is_available`]. Clones share the breakers.
#[derive(Clone, Debug)]
pub struct Sms {
    providers: Arc<[Provider]>,
    mailbox: Option<Mailbox>,
}

impl Sms {
    /// The providers of the settings; with a mailbox every text lands there too, and no provider is needed.
    pub fn new(settings: &Settings, mailbox: Option<Mailbox>) -> Result<Self, BadSettings> {
        let providers = settings.providers.iter().map(|name| Provider::new(*name, settings)).collect::<Result<_, _>>()?;
        Ok(Self { providers, mailbox })
    }

    /// Whether there is anything to send with.
    pub fn is_available(&self) -> bool {
        !self.providers.is_empty() || self.mailbox.is_some()
    }

    /// The providers in their order, each with its address; a log has none.
    pub fn addresses(&self) -> impl Iterator<Item = (ProviderName, Option<Url>)> {
        self.providers.iter().map(|provider| (provider.name(), provider.address()))
    }

    /// Hands the text to the first provider that takes it.
    pub async fn send(&self, text: Text<'_>) -> Result<(), TextNotSent> {
        if !self.providers.is_empty() {
            self.hand_over(&text).await?;
        } else if self.mailbox.is_none() {
            return Err(TextNotSent { answers: Vec::new() });
        }
        self.keep(&text);
        Ok(())
    }

    async fn hand_over(&self, text: &Text<'_>) -> Result<(), TextNotSent> {
        let mut answers = Vec::new();
        // The filter is asked as late as the provider is: its answer may be the one trial of an open breaker.
        for provider in self.providers.iter().filter(|provider| provider.admits(text.at)) {
            let Err(error) = provider.send(text).await else { return Ok(()) };
            let is_final = error.kind.is_about_the_number();
            answers.push(ProviderAnswer::new(provider.name(), error));
            if is_final {
                break;
            }
        }
        if answers.is_empty() {
            let first = self.providers.iter().min_by_key(|provider| provider.next_trial());
            let first = first.expect("a text is handed over only where there are providers");
            let Err(error) = first.send(text).await else { return Ok(()) };
            answers.push(ProviderAnswer::new(first.name(), error));
        }
        Err(TextNotSent { answers })
    }

    fn keep(&self, text: &Text<'_>) {
        if let Some(mailbox) = &self.mailbox {
            mailbox.keep(Kept {
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
