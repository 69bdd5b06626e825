//! `northpay`: every callback reports a payment with all its refunds.

use std::iter;

use axum::http::HeaderName;
use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::gateways::GatewaySigningSecret;
use super::gateways::drivers::{
    Account, Finding, GatewayDriver, Incoming, NotUnderstood, PaymentUpdate, Reading, Remarks, SettingsError, SignatureError, TRIAL,
    parse_settings, signing_key, try_out,
};
use super::gateways::facts::{Fact, FactKind};
use super::gateways::money::Currency;
use super::kernel::crypto::{SecretDigest, hmac_sha256};

static SIGNATURE: HeaderName = HeaderName::from_static("northpay-signature");

#[derive(Debug)]
pub struct Northpay;

/// The settings of a gateway of this driver.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// The company's shop at the provider. Callbacks about its other shops are ignored.
    shop: u64,
}

/// A gateway of this driver.
#[derive(Debug)]
struct NorthpayAccount {
    settings: Settings,
    signing_secret: Option<GatewaySigningSecret>,
}

impl GatewayDriver for Northpay {
    fn name(&self) -> &'static str {
        "northpay"
    }

    fn needs_secret_key(&self) -> bool {
        false
    }

    fn account(
        &self,
        settings: &Map<String, Value>,
        signing_secret: Option<GatewaySigningSecret>,
    ) -> Result<Box<dyn Account>, SettingsError> {
        Ok(Box::new(NorthpayAccount { settings: parse_settings(settings)?, signing_secret }))
    }
}

impl Account for NorthpayAccount {
    fn signature_header(&self) -> Option<&HeaderName> {
        Some(&SIGNATURE)
    }

    fn verify(&self, incoming: &Incoming<'_>) -> Result<(), SignatureError> {
        let key = signing_key(self.signing_secret.as_ref())?;
        let given = hex::decode(incoming.header(&SIGNATURE)?).map_err(|_| SignatureError::SignatureMalformed)?;
        if mac(key, incoming.body).is(given) { Ok(()) } else { Err(SignatureError::SignatureWrong) }
    }

    fn read(&self, body: &Value) -> Reading {
        let text = |member: &str| body.get(member).and_then(Value::as_str).map(str::to_owned);
        let (id, kind) = (text("event"), text("type"));
        let update = match kind.as_deref() {
            Some("payment") => understand(&self.settings, &body["payment"]),
            _ => Ok(None),
        };
        Reading { id, variant: None, kind, mode: None, update }
    }

    fn warnings(&self) -> Vec<Finding> {
        Vec::new()
    }

    fn check(&self, now: DateTime<Utc>) -> Vec<Finding> {
        vec![match signing_key(self.signing_secret.as_ref()) {
            Ok(key) => try_out(self, &SIGNATURE, &hex::encode(mac(key, TRIAL)), now),
            Err(missing) => Finding::bad("signing_secret", missing.to_string()),
        }]
    }
}

fn mac(key: &[u8], body: &[u8]) -> SecretDigest {
    hmac_sha256(key, &[body])
}

/// A payment, as callbacks contain it.
#[derive(Deserialize)]
struct Payment {
    number: String,
    shop: u64,
    state: State,
    cents: u32,
    currency: Currency,
    order: Option<Value>,
    refunds: Vec<Refund>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Open,
    Paid,
    Failed,
}

#[derive(Deserialize)]
struct Refund {
    number: String,
    cents: u32,
}

fn understand(settings: &Settings, payment: &Value) -> Result<Option<PaymentUpdate>, NotUnderstood> {
    let payment = Payment::deserialize(payment).map_err(|error| NotUnderstood(format!("The payment cannot be read: {error}.")))?;
    let mut remarks = Remarks::default();
    let facts = facts(&payment, &mut remarks);
    let update = PaymentUpdate { transaction: payment.number, facts, payer: None, remarks };
    Ok(Some(update).filter(|_| payment.shop == settings.shop))
}

/// What the callback says about the payment, in the terms that all gateways share.
fn facts(payment: &Payment, remarks: &mut Remarks) -> Vec<Fact> {
    let order = remarks.id("order", payment.order.as_ref());
    let fact = |kind, cents| Fact { amount: Some(i64::from(cents)), currency: Some(payment.currency.clone()), order, ..Fact::new(kind) };
    let state = match payment.state {
        State::Open => FactKind::PaymentPending,
        State::Paid => FactKind::PaymentSucceeded,
        State::Failed => FactKind::PaymentFailed,
    };
    let refunds =
        payment.refunds.iter().map(|refund| Fact { reference: refund.number.clone(), ..fact(FactKind::RefundProcessed, refund.cents) });
    iter::once(fact(state, payment.cents)).chain(refunds).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn account() -> Box<dyn Account> {
        let secret = GatewaySigningSecret::parse(&"secret-of-northpay".into()).unwrap();
        Northpay.account(json!({ "shop": 7 }).as_object().unwrap(), Some(secret)).unwrap()
    }

    fn payment(shop: u64) -> Value {
        let refunds = json!([{ "number": "R-1", "cents": 300 }, { "number": "R-2", "cents": 200 }]);
        let payment =
            json!({ "number": "N-1", "shop": shop, "state": "paid", "cents": 1250, "currency": "EUR", "order": null, "refunds": refunds });
        json!({ "event": "evt-1", "type": "payment", "payment": payment })
    }

    #[test]
    fn a_callback_reports_a_payment_and_each_of_its_refunds() {
        let update = account().read(&payment(7)).update.unwrap().unwrap();
        let facts: Vec<_> = update.facts.iter().map(|fact| (fact.kind, fact.reference.as_str(), fact.amount)).collect();
        let refund = FactKind::RefundProcessed;
        assert_eq!(facts, [(FactKind::PaymentSucceeded, "", Some(1250)), (refund, "R-1", Some(300)), (refund, "R-2", Some(200))]);
        assert_eq!(account().read(&payment(8)).update, Ok(None));
        assert!(account().read(&json!({ "event": "evt-2", "type": "payment" })).update.is_err());
    }

    #[test]
    fn a_signature_is_of_the_body_and_the_secret() {
        assert!(account().check(DateTime::UNIX_EPOCH).iter().all(|finding| finding.ok));
        assert!(!try_out(&*account(), &SIGNATURE, &"0".repeat(64), DateTime::UNIX_EPOCH).ok);
        let without_secret = Northpay.account(json!({ "shop": 7 }).as_object().unwrap(), None).unwrap();
        assert!(without_secret.check(DateTime::UNIX_EPOCH).iter().all(|finding| !finding.ok));
    }

    #[test]
    fn settings_name_the_shop() {
        let refused = |settings: Value| Northpay.account(settings.as_object().unwrap(), None).unwrap_err().path;
        assert_eq!((refused(json!({ "shop": "7" })), refused(json!({ "shop": 7, "store": 7 }))), ("shop".to_owned(), "store".to_owned()));
    }
}
