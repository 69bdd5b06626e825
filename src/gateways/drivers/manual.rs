//! `manual`: payments that no gateway reports, such as cash on delivery. It takes no callbacks.

use axum::http::HeaderName;
use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use crate::companies::gateways::SigningSecret;
use crate::gateways::driver::{Account, BadSettings, Driver, Finding, Incoming, NotGenuine, NotUnderstood, Reading};

#[derive(Debug)]
pub(super) struct Manual;

impl Driver for Manual {
    fn name(&self) -> &'static str {
        "manual"
    }

    fn account(&self, settings: &Map<String, Value>, _: Option<SigningSecret>) -> Result<Box<dyn Account>, BadSettings> {
        match settings.keys().next() {
            Some(key) => Err(BadSettings { path: key.clone(), reason: "A manual gateway has no settings.".to_owned() }),
            None => Ok(Box::new(Self)),
        }
    }
}

impl Account for Manual {
    fn signature_header(&self) -> Option<&HeaderName> {
        None
    }

    fn verify(&self, _: &Incoming<'_>) -> Result<(), NotGenuine> {
        Err(NotGenuine::SignatureMissing)
    }

    fn read(&self, _: &Value) -> Reading {
        Reading { id: None, kind: None, told: Err(NotUnderstood("A manual gateway takes no callbacks.".to_owned())) }
    }

    fn check(&self, _: DateTime<Utc>) -> Vec<Finding> {
        vec![Finding::good("callbacks", "A manual gateway takes no callbacks; there is nothing to set up.")]
    }
}
