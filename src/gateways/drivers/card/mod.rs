//! `card`: the card provider of [`crate::providers::card`], whose signatures contain a timestamp (`t=…,v1=…`).

mod events;
mod object;
mod signature;

use axum::http::HeaderName;
use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::gateways::credential::GatewaySigningSecret;
use crate::gateways::drivers::card::object::Object;
use crate::gateways::drivers::hmac::HeaderSetting;
use crate::gateways::drivers::{
    Account, Finding, GatewayDriver, Incoming, Mode, Reading, SettingsError, SignatureError, TRIAL, parse_settings, signing_key, try_out,
};

#[derive(Debug)]
pub struct Card;

/// The settings of a gateway of this driver.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    /// The header that contains the signature.
    header: HeaderSetting,
}

impl Default for Settings {
    fn default() -> Self {
        Self { header: HeaderSetting(HeaderName::from_static("card-signature")) }
    }
}

/// A gateway of this driver.
#[derive(Debug)]
struct CardAccount {
    header: HeaderName,
    signing_secret: Option<GatewaySigningSecret>,
}

impl GatewayDriver for Card {
    fn name(&self) -> &'static str {
        "card"
    }

    fn needs_secret_key(&self) -> bool {
        true
    }

    fn account(
        &self,
        settings: &Map<String, Value>,
        signing_secret: Option<GatewaySigningSecret>,
    ) -> Result<Box<dyn Account>, SettingsError> {
        let Settings { header: HeaderSetting(header) } = parse_settings(settings)?;
        Ok(Box::new(CardAccount { header, signing_secret }))
    }
}

impl Account for CardAccount {
    fn signature_header(&self) -> Option<&HeaderName> {
        Some(&self.header)
    }

    fn verify(&self, incoming: &Incoming<'_>) -> Result<(), SignatureError> {
        let key = signing_key(self.signing_secret.as_ref())?;
        signature::verify(key, incoming.header(&self.header)?, incoming.body, incoming.now)
    }

    fn read(&self, body: &Value) -> Reading {
        let text = |member: &str| body.get(member).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
        let (id, kind) = (text("id"), text("type"));
        let update = match (&kind, Object::of(body)) {
            (Some(kind), Some(object)) => events::understand(kind, &object),
            (None, _) => Err(object::lacks("type")),
            (Some(kind), None) if events::is_known(kind) => Err(object::lacks("data.object")),
            (Some(_), None) => Ok(None),
        };
        let mode = body.get("livemode").and_then(Value::as_bool).map(|live| if live { Mode::Live } else { Mode::Test });
        Reading { id, variant: None, kind, mode, update }
    }

    fn warnings(&self) -> Vec<Finding> {
        Vec::new()
    }

    fn check(&self, now: DateTime<Utc>) -> Vec<Finding> {
        let Ok(key) = signing_key(self.signing_secret.as_ref()) else {
            return vec![Finding::bad("signing_secret", SignatureError::SecretMissing.to_string())];
        };
        vec![try_out(self, &self.header, &signature::sign(key, TRIAL, now), now)]
    }
}
