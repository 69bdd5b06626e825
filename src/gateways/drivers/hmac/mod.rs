//! `hmac`: any gateway that signs JSON, by settings alone. `docs/gateways.md` shows real ones.

mod reading;
mod settings;
mod signature;

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use crate::gateways::driver::{self, Account, BadSettings, Driver, Finding, Incoming, NotGenuine, NotUnderstood, Reading};
use crate::gateways::drivers::hmac::settings::Settings;

pub(super) use settings::HeaderSetting;

#[derive(Debug)]
pub(super) struct AnyHmac;

impl Driver for AnyHmac {
    fn name(&self) -> &'static str {
        "hmac"
    }

    fn check_settings(&self, settings: &Map<String, Value>) -> Result<(), BadSettings> {
        driver::settings::<Settings>(settings).map(drop)
    }

    fn signature_header(&self, settings: &Map<String, Value>) -> Option<HeaderName> {
        driver::settings::<Settings>(settings).ok().map(|settings| settings.signature.header.0)
    }

    fn verify(&self, account: &Account, incoming: &Incoming<'_>) -> Result<(), NotGenuine> {
        let secret = account.secret()?;
        let settings = driver::settings::<Settings>(&account.settings).map_err(|_| NotGenuine::SignatureMalformed)?;
        let header = incoming.header(&settings.signature.header.0)?;
        signature::verify(&settings.signature, secret, header, incoming.body)
    }

    fn read(&self, account: &Account, body: &Value) -> Reading {
        match driver::settings::<Settings>(&account.settings) {
            Ok(settings) => reading::read(&settings, body),
            Err(bad) => Reading { id: None, kind: None, told: Err(NotUnderstood(format!("The settings cannot be read: {bad}."))) },
        }
    }

    fn check(&self, account: &Account, now: DateTime<Utc>) -> Vec<Finding> {
        let settings = match driver::settings::<Settings>(&account.settings) {
            Ok(settings) => settings,
            Err(bad) => return vec![Finding::bad("settings", bad.to_string())],
        };
        let Ok(secret) = account.secret() else {
            return vec![Finding::bad("signing_secret", NotGenuine::SecretMissing.to_string())];
        };
        let (header, body) = (settings.signature.header.0.clone(), b"{}");
        let value =
            HeaderValue::from_str(&signature::sign(&settings.signature, secret, body)).expect("a prefix and hex or base64 are visible");
        let headers = HeaderMap::from_iter([(header.clone(), value)]);
        let signed = match self.verify(account, &Incoming { headers: &headers, body, now }) {
            Ok(()) => Finding::good("signing_secret", format!("Callbacks signed in {header} with this secret will be believed.")),
            Err(refused) => Finding::bad("signing_secret", refused.to_string()),
        };
        let events = match settings.events.is_empty() {
            true => Finding::bad("events", "No type of event has a meaning yet: every callback will be ignored."),
            false => Finding::good("events", format!("{} types of events have a meaning.", settings.events.len())),
        };
        vec![signed, events]
    }
}
