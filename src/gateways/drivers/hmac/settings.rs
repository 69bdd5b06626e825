//! The settings of a gateway of the driver `hmac`; every error names the key.

use std::collections::BTreeMap;

use axum::http::HeaderName;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::gateways::drivers::is_blank;
use crate::gateways::facts::Normalised;
use crate::gateways::money::{Currency, Unit};

/// The entry for all types of events, or all currencies, that are not listed.
pub const ANY: &str = "*";

/// The field `settings` of a gateway.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    pub signature: Signature,
    #[serde(default)]
    pub pointers: Pointers,
    /// Which callbacks are repetitions of one.
    #[serde(default)]
    pub once_by: OnceBy,
    /// The meaning of the gateway's event types.
    #[serde(default)]
    pub events: BTreeMap<String, Meaning>,
    #[serde(default)]
    pub amount_unit: AmountUnit,
    /// The decimals of currencies in the gateway's minor units, where they are not those of ISO 4217.
    #[serde(default)]
    pub decimals: Decimals,
    /// The currency of amounts that are sent without one.
    pub currency: Option<Currency>,
}

impl Settings {
    /// The unit of the gateway's amounts in a currency.
    pub fn unit(&self, currency: &Currency) -> Unit {
        match self.amount_unit {
            AmountUnit::Major => Unit::Major,
            AmountUnit::Minor => self.decimals.of(currency).map_or(Unit::Minor, Unit::Decimals),
        }
    }
}

/// The unit of amounts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AmountUnit {
    #[default]
    Minor,
    Major,
}

/// Decimals by currency; `*` stands for all that are not named.
#[derive(Debug, Default, Deserialize)]
#[serde(try_from = "Value")]
pub struct Decimals(BTreeMap<String, usize>);

impl TryFrom<Value> for Decimals {
    type Error = &'static str;

    /// Whatever is wrong, the sentence says what is right.
    fn try_from(decimals: Value) -> Result<Self, Self::Error> {
        let names_one = |name: &str| name == ANY || name.parse::<Currency>().is_ok_and(|currency| currency.as_str() == name);
        let read = |(name, decimals): (&String, &Value)| {
            let decimals = decimals.as_u64().and_then(|decimals| usize::try_from(decimals).ok()).filter(|decimals| *decimals <= 6)?;
            names_one(name).then(|| (name.clone(), decimals))
        };
        let decimals = decimals.as_object().and_then(|decimals| decimals.iter().map(read).collect::<Option<_>>());
        decimals.map(Self).ok_or("This must be numbers from 0 to 6 by currency, such as {\"UGX\": 2}.")
    }
}

impl Decimals {
    fn of(&self, currency: &Currency) -> Option<usize> {
        self.0.get(currency.as_str()).or_else(|| self.0.get(ANY)).copied()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// How callbacks are signed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    pub header: HeaderSetting,
    /// The text before the signature in its header, such as `sha256=`.
    #[serde(default)]
    pub prefix: Visible,
    #[serde(default)]
    pub encoding: Encoding,
    #[serde(default)]
    pub algorithm: Algorithm,
    /// What is signed.
    #[serde(default)]
    pub signed: Signed,
}

/// The name of a header.
#[derive(Debug)]
pub struct HeaderSetting(pub HeaderName);

impl<'de> Deserialize<'de> for HeaderSetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(|_| serde::de::Error::custom("This must be the name of a header."))
    }
}

/// Visible ASCII text that is valid in a header, at most 100 characters.
#[derive(Debug, Default, Deserialize)]
#[serde(try_from = "String")]
pub struct Visible(pub String);

impl TryFrom<String> for Visible {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let fits = text.len() <= 100 && text.bytes().all(|byte| byte.is_ascii_graphic());
        fits.then_some(Self(text)).ok_or("This must be visible ASCII of at most 100 characters.")
    }
}

/// The encoding of the signature.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Encoding {
    #[default]
    Hex,
    Base64,
}

/// The hash function of the HMAC.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Algorithm {
    #[default]
    Sha256,
    Sha512,
}

/// `{body}` with the text that the gateway signs before and after it, such as the URL it calls.
#[derive(Debug, Default, Deserialize)]
#[serde(try_from = "String")]
pub struct Signed {
    pub before: String,
    pub after: String,
}

impl TryFrom<String> for Signed {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        match text.split("{body}").collect::<Vec<_>>()[..] {
            [before, after] if text.len() <= 1000 => Ok(Self { before: before.to_owned(), after: after.to_owned() }),
            _ => Err("This must contain {body} once and have at most 1000 characters."),
        }
    }
}

/// Which callbacks are repetitions of one; without an id, those with the same body.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnceBy {
    /// Those with the same id and the same type and, if there is a pointer to it, the same status. The id may be that of a transaction.
    #[default]
    IdAndType,
    /// Those with the same id, which has to be that of the event.
    Id,
}

/// Where the values are in a body.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pointers {
    /// The gateway's id of the event. Empty if events have no id that stays the same when they are sent again.
    pub id: Pointer,
    /// The gateway's name for the type of event.
    #[serde(rename = "type")]
    pub kind: Pointer,
    /// The gateway's status, if the type alone does not determine the meaning.
    pub status: Pointer,
    /// The gateway's name of the transaction.
    pub reference: Pointer,
    /// The gateway's name of the refund or dispute.
    pub part: Pointer,
    /// The gateway's name of the capture, if it pays an authorisation in parts.
    pub capture: Pointer,
    pub amount: Pointer,
    pub currency: Pointer,
    pub order: Pointer,
    pub customer: Pointer,
    pub message: Pointer,
}

impl Default for Pointers {
    fn default() -> Self {
        let at = |pointer: &str| Pointer(vec![pointer.to_owned()]);
        let nowhere = || Pointer(Vec::new());
        Self {
            id: at("/id"),
            kind: at("/type"),
            status: nowhere(),
            reference: at("/data/id"),
            part: nowhere(),
            capture: nowhere(),
            amount: at("/data/amount"),
            currency: at("/data/currency"),
            order: nowhere(),
            customer: nowhere(),
            message: nowhere(),
        }
    }
}

/// A JSON pointer (RFC 6901), or a list of which the first that finds a value applies. An empty text is no value. Null or an empty list finds
/// nothing.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(try_from = "PointerForm")]
pub struct Pointer(Vec<String>);

#[derive(Deserialize)]
#[serde(untagged, expecting = "a JSON pointer such as /data/id, or a list of them")]
enum PointerForm {
    One(String),
    Several(Vec<String>),
    Nowhere(()),
}

impl TryFrom<PointerForm> for Pointer {
    type Error = &'static str;

    fn try_from(form: PointerForm) -> Result<Self, Self::Error> {
        let pointers = match form {
            PointerForm::One(pointer) => vec![pointer],
            PointerForm::Several(pointers) => pointers,
            PointerForm::Nowhere(()) => Vec::new(),
        };
        let fit = pointers.len() <= 10 && pointers.iter().all(|pointer| pointer.starts_with('/') && pointer.len() <= 200);
        fit.then_some(Self(pointers)).ok_or("This must be a JSON pointer such as /data/id.")
    }
}

impl Pointer {
    pub fn find<'a>(&self, body: &'a Value) -> Option<&'a Value> {
        self.0.iter().find_map(|pointer| body.pointer(pointer).filter(|value| !is_blank(value)))
    }

    /// A string, or a number as a string: gateways send ids as either.
    pub fn text(&self, body: &Value) -> Option<String> {
        match self.find(body)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }
}

/// The meaning of an event type: fixed, or dependent on the status.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "a normalised event such as payment.succeeded, or one for each status")]
pub enum Meaning {
    Always(Normalised),
    ByStatus(BTreeMap<String, Normalised>),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateways::drivers::parse_settings;
    use serde_json::json;

    fn refused(settings: Value) -> String {
        parse_settings::<Settings>(settings.as_object().unwrap()).unwrap_err().path
    }

    #[test]
    fn the_least_settings_are_a_header() {
        let settings: Settings = parse_settings(json!({ "signature": { "header": "X-Signature" } }).as_object().unwrap()).unwrap();
        assert_eq!(settings.signature.header.0, "x-signature");
        assert_eq!(settings.pointers.reference.text(&json!({ "data": { "id": 7 } })).as_deref(), Some("7"));
        assert!(settings.pointers.status.find(&json!({ "status": "x" })).is_none());
    }

    #[test]
    fn refusals_name_the_key() {
        let with = |key: &str, value: Value| {
            let mut settings = json!({ "signature": { "header": "X-Signature" } });
            settings.as_object_mut().unwrap().insert(key.to_owned(), value);
            settings
        };
        assert_eq!(refused(json!({ "signature": { "header": "no header" } })), "signature.header");
        assert_eq!(refused(json!({ "signature": { "header": "X-Signature", "encoding": "rot13" } })), "signature.encoding");
        assert_eq!(refused(json!({ "signature": { "header": "X-Signature", "signed": "the body" } })), "signature.signed");
        assert_eq!(refused(with("pointers", json!({ "amount": "data.amount" }))), "pointers.amount");
        assert_eq!(refused(with("pointers", json!({ "sum": "/amount" }))), "pointers.sum");
        assert_eq!(refused(with("events", json!({ "paid": "payment.paid" }))), "events.paid");
        assert_eq!(refused(with("amount_unit", json!("cents"))), "amount_unit");
        for decimals in [
            json!({ "UGX": 9 }),
            json!({ "ugx": 2 }),
            json!({ "shillings": 2 }),
            json!({ "XOF": "2" }),
            json!({ "XOF": -1 }),
            json!({ "XOF": 0.5 }),
            json!(2),
        ] {
            let settings = with("decimals", decimals);
            assert_eq!(refused(settings.clone()), "decimals");
            let reason = parse_settings::<Settings>(settings.as_object().unwrap()).unwrap_err().reason;
            assert!(reason.contains("This must be numbers from 0 to 6 by currency"), "{reason}");
        }
        assert_eq!(refused(with("currency", json!("dollars"))), "currency");
    }
}
