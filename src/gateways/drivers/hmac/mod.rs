//! `hmac`: any gateway that sends JSON signed with an HMAC, configured by settings alone. `docs/gateways.md` shows examples.

mod reading;
mod settings;
mod signature;

use axum::http::HeaderName;
use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use crate::companies::gateways::GatewaySigningSecret;
use crate::gateways::driver::{self, Account, Driver, Finding, Incoming, Reading, SettingsError, SignatureError};
use crate::gateways::drivers::hmac::settings::Settings;

pub(super) use settings::HeaderSetting;

#[derive(Debug)]
pub(super) struct AnyHmac;

/// A gateway of this driver.
#[derive(Debug)]
struct HmacAccount {
    settings: Settings,
    signing_secret: Option<GatewaySigningSecret>,
}

impl Driver for AnyHmac {
    fn name(&self) -> &'static str {
        "hmac"
    }

    fn account(
        &self,
        settings: &Map<String, Value>,
        signing_secret: Option<GatewaySigningSecret>,
    ) -> Result<Box<dyn Account>, SettingsError> {
        Ok(Box::new(HmacAccount { settings: driver::settings(settings)?, signing_secret }))
    }
}

impl Account for HmacAccount {
    fn signature_header(&self) -> Option<&HeaderName> {
        Some(&self.settings.signature.header.0)
    }

    fn verify(&self, incoming: &Incoming<'_>) -> Result<(), SignatureError> {
        let (key, signed) = (driver::key(self.signing_secret.as_ref())?, &self.settings.signature);
        signature::verify(signed, key, incoming.header(&signed.header.0)?, incoming.body)
    }

    fn read(&self, body: &Value) -> Reading {
        reading::read(&self.settings, body)
    }

    fn check(&self, now: DateTime<Utc>) -> Vec<Finding> {
        let Ok(key) = driver::key(self.signing_secret.as_ref()) else {
            return vec![Finding::bad("signing_secret", SignatureError::SecretMissing.to_string())];
        };
        let Settings { signature, events, .. } = &self.settings;
        let signed = driver::try_out(self, &signature.header.0, &signature::sign(signature, key, driver::TRIAL), now);
        let events = match events.is_empty() {
            true => Finding::bad("events", "No type of event is mapped yet: every callback will be ignored."),
            false => Finding::good("events", format!("{} types of events are mapped.", events.len())),
        };
        vec![signed, events]
    }
}
