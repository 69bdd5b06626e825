//! Reads a body by the JSON pointers of the settings.

use serde_json::Value;

use crate::gateways::drivers::hmac::settings::{ANY, Meaning, OnceBy, Pointer, Settings};
use crate::gateways::drivers::{NotUnderstood, PaymentUpdate, Reading, Remarks, read_currency, shown};
use crate::gateways::facts::{Fact, FactKind, Normalised};
use crate::gateways::money::{Currency, InvalidAmount, Unit, minor_units};

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
    Reading { id, variant, kind, mode: None, update }
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
        (Some(Meaning::ByStatus(statuses)), _) => match text_at(&settings.pointers.status, "status", body)? {
            Some(status) => Ok(statuses.get(&status).copied()),
            None => Err(lacks("status")),
        },
        (None, Some(_)) => Ok(None),
        (None, None) => text_at(&settings.pointers.kind, "type", body).and_then(|_| Err(lacks("type"))),
    }
}

fn lacks(member: &str) -> NotUnderstood {
    NotUnderstood(format!("There is no {member} where the settings point to."))
}

/// The text that a pointer finds. What it finds and is none is not the same as nothing: two refunds could not be told apart, or one would be two.
fn text_at(pointer: &Pointer, of: &str, body: &Value) -> Result<Option<String>, NotUnderstood> {
    match (pointer.find(body), pointer.text(body)) {
        (Some(found), None) => Err(NotUnderstood(format!("The {of} {} is neither a text nor a number.", shown(found)))),
        (_, text) => Ok(text),
    }
}

fn update(settings: &Settings, normalised: Normalised, body: &Value) -> Result<PaymentUpdate, NotUnderstood> {
    let (pointers, mut remarks) = (&settings.pointers, Remarks::default());
    let transaction = text_at(&pointers.reference, "reference", body)?.ok_or_else(|| lacks("reference"))?;
    let kind = normalised.fact();
    let sum = match (sum(settings, body), kind) {
        (Ok((amount, currency)), _) => (Some(amount), Some(currency)),
        // These facts are meaningless without an amount.
        (Err(refused), FactKind::PaymentSucceeded | FactKind::RefundProcessed | FactKind::RefundFailed) => return Err(refused),
        (Err(NotUnderstood(why)), _) => {
            if pointers.amount.find(body).is_some() {
                remarks.add(why);
            }
            (None, None)
        }
    };
    let reference = match kind {
        FactKind::PaymentSucceeded => text_at(&pointers.capture, "capture", body)?,
        FactKind::RefundProcessed | FactKind::RefundFailed => text_at(&pointers.part, "part", body)?,
        // A dispute has to be answered in time, even if it is told twice.
        _ if kind.is_one_of_several() => remarks.or_remark(text_at(&pointers.part, "part", body)),
        _ => None,
    };
    if let Err(NotUnderstood(why)) = text_at(&pointers.id, "id of the event", body) {
        remarks.add(why);
    }
    let fact = Fact {
        reference: reference.unwrap_or_default(),
        amount: sum.0,
        currency: sum.1,
        message: remarks.or_remark(text_at(&pointers.message, "message", body)),
        order: remarks.id("order", pointers.order.find(body)),
        customer: remarks.id("customer", pointers.customer.find(body)),
        ..Fact::new(kind)
    };
    Ok(PaymentUpdate { transaction, facts: vec![fact], payer: None, remarks })
}

fn sum(settings: &Settings, body: &Value) -> Result<(i64, Currency), NotUnderstood> {
    let currency = currency(settings, body)?;
    let value = settings.pointers.amount.find(body).ok_or_else(|| lacks("amount"))?;
    let amount = minor_units(value, &currency, settings.unit(&currency)).map_err(|error| match error {
        // Most gateways that send decimals mean major units, and somebody forgot to say so.
        InvalidAmount::Decimals(_, Unit::Minor) => NotUnderstood(format!("The amount {error}: amount_unit is minor.")),
        error => NotUnderstood(format!("The amount {error}.")),
    })?;
    Ok((amount, currency))
}

/// The currency that the callback names. Only where it names none, that of the settings applies: another one would be a wrong amount.
fn currency(settings: &Settings, body: &Value) -> Result<Currency, NotUnderstood> {
    match settings.pointers.currency.find(body) {
        Some(stated) => read_currency(stated),
        None => settings.currency.clone().ok_or_else(|| lacks("currency")),
    }
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
    fn a_type_that_is_no_text_is_not_said_to_be_missing() {
        let refused = |body: Value| read(&settings(json!({ "events": { "paid": "payment.succeeded" } })), &body).update.unwrap_err().0;
        assert_eq!(refused(json!({ "type": { "name": "paid" } })), r#"The type {"name":"paid"} is neither a text nor a number."#);
        for missing in [json!({}), json!({ "type": null }), json!({ "type": "" })] {
            assert_eq!(refused(missing), "There is no type where the settings point to.");
        }
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
    fn captures_are_told_apart_where_the_settings_point_to_them() {
        let settings = settings(
            json!({ "events": { "captured": "payment.succeeded" }, "pointers": { "capture": "/data/capture", "part": "/data/refund" } }),
        );
        let data = json!({ "id": "t1", "amount": 5, "currency": "EUR", "capture": "c1", "refund": "r1" });
        assert_eq!(read(&settings, &json!({ "type": "captured", "data": data })).update.unwrap().unwrap().facts[0].reference, "c1");
    }

    #[test]
    fn the_first_pointer_that_finds_a_value_counts_and_empty_is_none() {
        let settings =
            settings(json!({ "events": { "paid": "payment.succeeded" }, "pointers": { "amount": ["/data/gross", "/data/amount"] } }));
        for gross in ["", " "] {
            let data = json!({ "id": "t1", "gross": gross, "amount": 500, "currency": "EUR" });
            let update = read(&settings, &json!({ "type": "paid", "data": data })).update.unwrap().unwrap();
            assert_eq!(update.facts[0].amount, Some(500), "{gross:?}");
        }
    }

    #[test]
    fn a_currency_that_cannot_be_read_is_not_that_of_the_settings() {
        let settings = settings(json!({ "events": { "paid": "payment.succeeded" }, "currency": "EUR", "amount_unit": "major" }));
        let read_in = |currency: Value| {
            let data = json!({ "id": "t1", "amount": "100.00", "currency": currency });
            read(&settings, &json!({ "type": "paid", "data": data })).update.map(|update| update.unwrap().facts.remove(0).currency)
        };
        for unreadable in [json!("USDT"), json!(978), json!(["USD"])] {
            let NotUnderstood(why) = read_in(unreadable.clone()).unwrap_err();
            assert!(why.contains(&shown(&unreadable)) && why.contains("three letters"), "{why}");
        }
        for missing in [json!(null), json!("")] {
            assert_eq!(read_in(missing), Ok("EUR".parse().ok()));
        }
    }

    #[test]
    fn a_gateway_may_have_decimals_of_its_own() {
        let in_shillings = |more: Value| {
            let mut all = json!({ "events": { "paid": "payment.succeeded" } });
            all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let data = json!({ "id": "t1", "amount": 500, "currency": "UGX" });
            read(&settings(all), &json!({ "type": "paid", "data": data })).update.unwrap().unwrap().facts[0].amount
        };
        assert_eq!(in_shillings(json!({})), Some(500));
        assert_eq!(in_shillings(json!({ "decimals": { "UGX": 2 } })), Some(5));
        assert_eq!(in_shillings(json!({ "decimals": { "*": 2 } })), Some(5));
        assert_eq!(in_shillings(json!({ "decimals": { "*": 2, "UGX": 0 } })), Some(500));
    }

    #[test]
    fn an_amount_in_major_units_shows_the_setting_that_is_missing() {
        let refused = |more: Value, amount: Value| {
            let mut all = json!({ "events": { "paid": "payment.succeeded" } });
            all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let data = json!({ "id": "t1", "amount": amount, "currency": "USD" });
            read(&settings(all), &json!({ "type": "paid", "data": data })).update.unwrap_err().0
        };
        let major = json!({ "amount_unit": "major" });
        let sentence = "The amount is no whole number of minor units (such as cents) of USD: amount_unit is minor.";
        assert_eq!(refused(json!({}), json!(12.5)), sentence);
        assert_eq!(refused(major, json!("12.505")), "The amount has more decimal places than USD, which has 2.");
        assert_eq!(refused(json!({}), json!("many")), "The amount is not a number, or is negative.");
    }

    #[test]
    fn what_is_there_and_cannot_be_read_is_told() {
        let settings = settings(
            json!({ "events": { "open": "payment.pending" }, "pointers": { "order": "/data/order", "customer": "/data/customer" } }),
        );
        let told = |data: Value| read(&settings, &json!({ "type": "open", "data": data })).update.unwrap().unwrap().remarks.sentences();
        let remarks = told(json!({ "id": "t1", "amount": "many", "currency": "EUR", "order": "cart-7", "customer": 8 })).unwrap();
        for words in ["The amount is not a number", "The order \"cart-7\"", "The customer 8 "] {
            assert!(remarks.contains(words), "{words}: {remarks}");
        }
        assert_eq!(told(json!({ "id": "t1" })), None);
    }

    #[test]
    fn an_id_that_cannot_be_read_is_not_left_out_in_silence() {
        let events = json!({ "captured": "payment.succeeded", "refund": "refund.processed", "back": "refund.failed", "dispute": "chargeback.created" });
        let pointers = json!({ "capture": "/data/part", "part": "/data/part", "message": "/data/part" });
        let settings = settings(json!({ "events": events, "pointers": pointers }));
        let told = |kind: &str, part: Value| {
            let data = json!({ "id": "t1", "amount": 5, "currency": "EUR", "part": part });
            read(&settings, &json!({ "id": "e1", "type": kind, "data": data })).update.map(|update| update.unwrap())
        };
        for kind in ["captured", "refund", "back"] {
            let refused = told(kind, json!({ "id": "r1" })).unwrap_err().0;
            assert!(refused.contains(r#" {"id":"r1"} is neither a text nor a number."#), "{refused}");
            assert!(told(kind, json!(true)).unwrap_err().0.contains(" true is neither a text nor a number."));
            assert_eq!(told(kind, json!(7)).unwrap().facts[0].reference, "7");
            assert_eq!(told(kind, json!("")).unwrap().remarks.sentences(), None);
        }
        let dispute = told("dispute", json!(["d1"])).unwrap();
        assert_eq!(dispute.facts[0].reference, "");
        let remarks = dispute.remarks.sentences().unwrap();
        assert!(remarks.contains("The part") && remarks.contains("The message"), "{remarks}");
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
