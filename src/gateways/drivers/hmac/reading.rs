//! Reads a body by the JSON pointers of the settings.

use serde_json::Value;

use crate::gateways::drivers::hmac::settings::{Meaning, OnceBy, Settings};
use crate::gateways::drivers::{NotUnderstood, PaymentUpdate, Reading};
use crate::gateways::facts::{Fact, FactKind, Normalised};
use crate::gateways::money::{Currency, minor_units};

/// The entry for event types that are not listed, and for gateways without event types.
const ANY: &str = "*";

pub fn read(settings: &Settings, body: &Value) -> Reading {
    let (id, kind) = (settings.pointers.id.text(body), settings.pointers.kind.text(body));
    let update = meaning(settings, kind.as_deref(), body).and_then(|meant| match meant {
        Some(normalised) => update(settings, normalised, body).map(Some),
        None => Ok(None),
    });
    let variant = match settings.once_by {
        OnceBy::Id => None,
        OnceBy::IdAndType => variant(kind.as_deref(), settings.pointers.status.text(body).as_deref()),
    };
    Reading { id, variant, kind, update }
}

/// Type and status, neither of which can be mistaken for the other.
fn variant(kind: Option<&str>, status: Option<&str>) -> Option<String> {
    match (kind, status) {
        (None, None) => None,
        (Some(kind), None) => Some(kind.to_owned()),
        (kind, Some(status)) => Some(format!("{}\n{status}", kind.unwrap_or_default())),
    }
}

fn meaning(settings: &Settings, kind: Option<&str>, body: &Value) -> Result<Option<Normalised>, NotUnderstood> {
    let listed = kind.and_then(|kind| settings.events.get(kind)).or_else(|| settings.events.get(ANY));
    match (listed, kind) {
        (Some(Meaning::Always(normalised)), _) => Ok(Some(*normalised)),
        (Some(Meaning::ByStatus(statuses)), _) => match settings.pointers.status.text(body) {
            Some(status) => Ok(statuses.get(&status).copied()),
            None => Err(lacks("status")),
        },
        (None, Some(_)) => Ok(None),
        (None, None) => Err(lacks("type")),
    }
}

fn lacks(member: &str) -> NotUnderstood {
    NotUnderstood(format!("There is no valid {member} where the settings point to."))
}

fn update(settings: &Settings, normalised: Normalised, body: &Value) -> Result<PaymentUpdate, NotUnderstood> {
    let pointers = &settings.pointers;
    let transaction = pointers.reference.text(body).ok_or_else(|| lacks("reference"))?;
    let kind = normalised.fact();
    let sum = match (sum(settings, body), kind) {
        (Ok((amount, currency)), _) => (Some(amount), Some(currency)),
        // These facts are meaningless without an amount.
        (Err(refused), FactKind::PaymentSucceeded | FactKind::RefundProcessed | FactKind::RefundFailed) => return Err(refused),
        (Err(_), _) => (None, None),
    };
    let fact = Fact {
        reference: if kind.is_one_of_several() { pointers.part.text(body).unwrap_or_default() } else { String::new() },
        amount: sum.0,
        currency: sum.1,
        message: pointers.message.text(body),
        order: pointers.order.text(body).and_then(|id| id.parse().ok()),
        customer: pointers.customer.text(body).and_then(|id| id.parse().ok()),
        ..Fact::new(kind)
    };
    Ok(PaymentUpdate { transaction, facts: vec![fact], payer: None })
}

fn sum(settings: &Settings, body: &Value) -> Result<(i64, Currency), NotUnderstood> {
    let stated = settings.pointers.currency.text(body).and_then(|text| text.parse().ok());
    let currency = stated.or_else(|| settings.currency.clone()).ok_or_else(|| lacks("currency"))?;
    let value = settings.pointers.amount.find(body).ok_or_else(|| lacks("amount"))?;
    let amount = minor_units(value, &currency, settings.amount_unit).map_err(|error| NotUnderstood(format!("The amount {error}.")))?;
    Ok((amount, currency))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateways::drivers::parse_settings;
    use serde_json::json;

    fn settings(more: Value) -> Settings {
        let mut all = json!({ "signature": { "header": "x" } });
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        parse_settings(all.as_object().unwrap()).unwrap()
    }

    #[test]
    fn a_type_means_what_the_settings_say_alone_or_with_its_status() {
        let settings = settings(json!({
            "events": { "paid": "payment.succeeded", "changed": { "DONE": "payment.succeeded", "GONE": "payment.failed" } },
            "pointers": { "status": "/data/status" },
        }));
        let kind_of = |kind: &str, status: &str| {
            let body = json!({ "id": 7, "type": kind, "data": { "id": "t1", "amount": 5, "currency": "EUR", "status": status } });
            read(&settings, &body).update.map(|update| update.map(|update| update.facts[0].kind))
        };
        assert_eq!(kind_of("paid", ""), Ok(Some(FactKind::PaymentSucceeded)));
        assert_eq!(kind_of("changed", "DONE"), Ok(Some(FactKind::PaymentSucceeded)));
        assert_eq!(kind_of("changed", "GONE"), Ok(Some(FactKind::PaymentFailed)));
        assert_eq!(kind_of("changed", "NEW"), Ok(None));
        assert!(kind_of("changed", "").is_err());
        assert_eq!(kind_of("payout", ""), Ok(None));
    }

    #[test]
    fn gateways_without_types_have_a_star() {
        let settings = settings(
            json!({ "events": { "*": { "ok": "payment.succeeded" } }, "pointers": { "status": "/status" }, "currency": "NGN", "amount_unit": "major" }),
        );
        let reading = read(&settings, &json!({ "status": "ok", "data": { "id": "t1", "amount": "12.50" } }));
        let update = reading.update.unwrap().unwrap();
        assert_eq!((update.facts[0].amount, reading.id, reading.kind), (Some(1250), None, None));
    }

    #[test]
    fn events_of_one_id_are_told_apart_by_type_and_status() {
        let variant = |more: Value, body: Value| read(&settings(more), &body).variant;
        let by_status = json!({ "pointers": { "status": "/status" } });
        assert_eq!(variant(json!({}), json!({ "id": 7, "type": "paid", "status": "DONE" })).as_deref(), Some("paid"));
        assert_eq!(variant(by_status.clone(), json!({ "id": 7, "type": "paid", "status": "DONE" })).as_deref(), Some("paid\nDONE"));
        assert_eq!(variant(by_status.clone(), json!({ "id": 7, "status": "DONE" })).as_deref(), Some("\nDONE"));
        assert_eq!(variant(by_status, json!({ "id": 7 })), None);
        assert_eq!(variant(json!({ "once_by": "id" }), json!({ "id": 7, "type": "paid" })), None);
    }

    #[test]
    fn refunds_are_told_apart_and_payments_are_not() {
        let events = json!({ "refund": "refund.processed", "paid": "payment.succeeded" });
        let settings = settings(json!({ "events": events, "pointers": { "part": "/data/refund" } }));
        let reference = |kind: &str| {
            let data = json!({ "id": "t1", "amount": 5, "currency": "EUR", "refund": "r1" });
            read(&settings, &json!({ "id": "e1", "type": kind, "data": data })).update.unwrap().unwrap().facts[0].reference.clone()
        };
        assert_eq!((reference("refund"), reference("paid")), ("r1".to_owned(), String::new()));
    }
}
