//! `manual`: payments that no gateway reports, such as cash on delivery. It takes no callbacks.

use axum::http::HeaderName;
use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use crate::gateways::credential::GatewaySigningSecret;
use crate::gateways::drivers::{Account, Finding, GatewayDriver, Incoming, NotUnderstood, Reading, SettingsError, SignatureError};

#[derive(Debug)]
pub struct Manual;

impl GatewayDriver for Manual {
    fn name(&self) -> &'static str {
        "manual"
    }

    fn needs_secret_key(&self) -> bool {
        false
    }

    fn account(&self, settings: &Map<String, Value>, _: Option<GatewaySigningSecret>) -> Result<Box<dyn Account>, SettingsError> {
        match settings.keys().next() {
            Some(key) => Err(SettingsError { path: key.clone(), reason: "A manual gateway has no settings.".to_owned() }),
            None => Ok(Box::new(Self)),
        }
    }
}

impl Account for Manual {
    fn signature_header(&self) -> Option<&HeaderName> {
        None
    }

    fn verify(&self, _: &Incoming<'_>) -> Result<(), SignatureError> {
        Err(SignatureError::SignatureMissing)
    }

    fn read(&self, _: &Value) -> Reading {
        let update = Err(NotUnderstood("A manual gateway does not accept callbacks.".to_owned()));
        Reading { id: None, variant: None, kind: None, mode: None, update }
    }

    fn warnings(&self) -> Vec<Finding> {
        Vec::new()
    }

    fn check(&self, _: DateTime<Utc>) -> Vec<Finding> {
        vec![Finding::good("callbacks", "A manual gateway does not accept callbacks; no configuration is needed.")]
    }
}
