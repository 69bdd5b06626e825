//! What sends the messages of one company's stores.

use crate::providers::sms::{Sms, Text, TextNotSent};
use crate::storefront::message_providers::{Built, MessageChannel};

/// The providers of a company, or those of the deployment in their place.
#[derive(Debug)]
pub struct ProvidersOfCompany {
    deployment: Sms,
    sms: Sms,
}

impl ProvidersOfCompany {
    pub(super) fn of_deployment(sms: &Sms) -> Self {
        Self { deployment: sms.clone(), sms: sms.clone() }
    }

    /// Puts the company's own provider in the place of those of the deployment. `None` stands for one that cannot be used.
    pub(super) fn replace(&mut self, channel: MessageChannel, own: Option<&Built>, falls_back: bool) {
        match (channel, own) {
            (MessageChannel::Sms, Some(Built::Sms(own))) => self.sms = self.deployment.with_own(own, falls_back),
            (MessageChannel::Sms, None) if falls_back => {}
            (MessageChannel::Sms, None) => self.sms = self.deployment.without_providers(),
        }
    }

    /// Whether anybody sends texts.
    pub fn sends_texts(&self) -> bool {
        self.sms.is_available()
    }

    /// Sends a text, whatever the SMS guard says of it.
    pub async fn send_text(&self, text: Text<'_>) -> Result<(), TextNotSent> {
        self.sms.send(text).await
    }
}
