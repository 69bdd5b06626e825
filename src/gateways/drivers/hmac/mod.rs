//! `hmac`: any gateway that sends JSON signed with an HMAC, configured by settings alone. `docs/gateways.md` shows examples.

mod reading;
mod settings;
mod signature;

use axum::http::HeaderName;
use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use crate::gateways::credential::GatewaySigningSecret;
use crate::gateways::drivers::hmac::settings::{AmountUnit, Settings};
use crate::gateways::drivers::{
    Account, Finding, GatewayDriver, ID_OF_TRANSACTION, Incoming, Reading, SettingsError, SignatureError, TRIAL, parse_settings,
    signing_key, try_out,
};

pub use settings::HeaderSetting;

const NOTHING_MAPPED: &str = "No type of event is mapped yet: every callback will be ignored.";
const DECIMALS_WITHOUT_USE: &str =
    "The decimals are not used: amount_unit is major, and amounts in major units have a decimal point of their own.";

#[derive(Debug)]
pub struct AnyHmac;

/// A gateway of this driver.
#[derive(Debug)]
struct HmacAccount {
    settings: Settings,
    signing_secret: Option<GatewaySigningSecret>,
}

impl GatewayDriver for AnyHmac {
    fn name(&self) -> &'static str {
        "hmac"
    }

    fn needs_secret_key(&self) -> bool {
        false
    }

    fn account(
        &self,
        settings: &Map<String, Value>,
        signing_secret: Option<GatewaySigningSecret>,
    ) -> Result<Box<dyn Account>, SettingsError> {
        Ok(Box::new(HmacAccount { settings: parse_settings(settings)?, signing_secret }))
    }
}

impl Account for HmacAccount {
    fn signature_header(&self) -> Option<&HeaderName> {
        Some(&self.settings.signature.header.0)
    }

    fn verify(&self, incoming: &Incoming<'_>) -> Result<(), SignatureError> {
        let (key, signed) = (signing_key(self.signing_secret.as_ref())?, &self.settings.signature);
        signature::verify(signed, key, incoming.header(&signed.header.0)?, incoming.body)
    }

    fn read(&self, body: &Value) -> Reading {
        reading::read(&self.settings, body)
    }

    fn warnings(&self) -> Vec<Finding> {
        let Settings { events, pointers, amount_unit, decimals, .. } = &self.settings;
        let nothing_mapped = events.is_empty().then(|| Finding::bad("events", NOTHING_MAPPED));
        let ambiguous = (pointers.id == pointers.reference).then(|| Finding::bad("id", ID_OF_TRANSACTION));
        let without_use = *amount_unit == AmountUnit::Major && !decimals.is_empty();
        let without_use = without_use.then(|| Finding::bad("decimals", DECIMALS_WITHOUT_USE));
        nothing_mapped.into_iter().chain(ambiguous).chain(without_use).collect()
    }

    fn check(&self, now: DateTime<Utc>) -> Vec<Finding> {
        let Ok(key) = signing_key(self.signing_secret.as_ref()) else {
            return vec![Finding::bad("signing_secret", SignatureError::SecretMissing.to_string())];
        };
        let Settings { signature, events, .. } = &self.settings;
        let signed = try_out(self, &signature.header.0, &signature::sign(signature, key, TRIAL), now);
        let mapped = (!events.is_empty()).then(|| Finding::good("events", format!("{} types of events are mapped.", events.len())));
        let mut findings: Vec<_> = [Some(signed), mapped].into_iter().flatten().collect();
        findings.extend(self.warnings());
        findings
    }
}
