//! The meaning of the card provider's events.

use serde_json::Value;

use crate::gateways::drivers::card::object::{Object, lacks};
use crate::gateways::drivers::{NotUnderstood, PaymentUpdate};
use crate::gateways::facts::{Fact, FactKind};

type Facts = Result<Vec<Fact>, NotUnderstood>;

/// Reads the facts from the object of an event.
type Reader = fn(&Object<'_>) -> Facts;

/// The event types that are understood, and how they are read.
fn reader(kind: &str) -> Option<Reader> {
    Some(match kind {
        "payment_intent.succeeded" => |intent| one(intent.sum(FactKind::PaymentSucceeded, &["/amount_received", "/amount"])),
        "payment_intent.payment_failed" => |intent| one(Ok(with_message(intent, FactKind::PaymentFailed, "/last_payment_error/message"))),
        "payment_intent.canceled" => |intent| one(Ok(with_message(intent, FactKind::PaymentFailed, "/cancellation_reason"))),
        "payment_intent.processing" | "payment_intent.amount_capturable_updated" => |intent| one(Ok(pending(intent, "/amount"))),
        "checkout.session.completed" => completed,
        "checkout.session.async_payment_succeeded" => |session| one(session.sum(FactKind::PaymentSucceeded, &["/amount_total"])),
        "checkout.session.async_payment_failed" => |session| one(Ok(session.note(FactKind::PaymentFailed, &["/amount_total"]))),
        "checkout.session.expired" => {
            |session| one(Ok(Fact { message: Some("expired".to_owned()), ..session.note(FactKind::PaymentFailed, &["/amount_total"]) }))
        }
        "charge.succeeded" => |charge| match charge.get("/captured") {
            Some(Value::Bool(false)) => one(Ok(pending(charge, "/amount"))),
            _ => one(charge.sum(FactKind::PaymentSucceeded, &["/amount"])),
        },
        "charge.captured" => |charge| one(charge.sum(FactKind::PaymentSucceeded, &["/amount_captured", "/amount"])),
        "charge.pending" => |charge| one(Ok(pending(charge, "/amount"))),
        "charge.failed" => |charge| one(Ok(with_message(charge, FactKind::PaymentFailed, "/failure_message"))),
        "charge.expired" => |charge| one(Ok(with_message(charge, FactKind::PaymentFailed, "/failure_message"))),
        "charge.refunded" => refunded,
        "refund.created" | "refund.updated" | "charge.refund.updated" => |refund| one(self::refund(refund)),
        "refund.failed" => |refund| one(named(refund, FactKind::RefundFailed)),
        "charge.dispute.created" => |dispute| one(disputed(dispute, FactKind::DisputeCreated)),
        "charge.dispute.updated" | "charge.dispute.funds_withdrawn" | "charge.dispute.funds_reinstated" => {
            |dispute| one(disputed(dispute, FactKind::DisputeUpdated))
        }
        "charge.dispute.closed" => |dispute| match dispute.text("/status") {
            Some("lost") => one(disputed(dispute, FactKind::DisputeLost)),
            _ => one(disputed(dispute, FactKind::DisputeWon)),
        },
        "setup_intent.succeeded" => |intent| one(Ok(intent.fact(FactKind::SetupSucceeded))),
        _ => return None,
    })
}

/// Whether events of this type are understood.
pub fn is_known(kind: &str) -> bool {
    reader(kind).is_some()
}

pub fn understand(kind: &str, object: &Object<'_>) -> Result<Option<PaymentUpdate>, NotUnderstood> {
    let Some(read) = reader(kind) else { return Ok(None) };
    let facts = read(object)?;
    if facts.is_empty() {
        return Ok(None);
    }
    let transaction = match facts.first().map(|fact| fact.kind) {
        Some(FactKind::SetupSucceeded) => object.id_of("/setup_intent").map_or_else(|| object.transaction(), Ok)?,
        _ => object.transaction()?,
    };
    Ok(Some(PaymentUpdate { transaction, facts, payer: object.id_of("/customer") }))
}

fn one(fact: Result<Fact, NotUnderstood>) -> Facts {
    fact.map(|fact| vec![fact])
}

fn pending(object: &Object<'_>, amount: &str) -> Fact {
    object.note(FactKind::PaymentPending, &[amount])
}

fn with_message(object: &Object<'_>, kind: FactKind, message: &str) -> Fact {
    Fact { message: object.text(message).map(str::to_owned), ..object.note(kind, &["/amount"]) }
}

/// A completed session is paid, pending, or has saved a payment method. The price of a subscription is reported by the payment
/// intents of its invoices.
fn completed(session: &Object<'_>) -> Facts {
    match (session.text("/mode"), session.text("/payment_status")) {
        (Some("subscription"), _) if session.get("/payment_intent").is_none() => Ok(Vec::new()),
        (Some("setup"), _) => one(Ok(session.fact(FactKind::SetupSucceeded))),
        (_, Some("unpaid")) => one(Ok(pending(session, "/amount_total"))),
        // Only a session with one of these statuses is paid.
        (_, Some("paid" | "no_payment_required")) => one(session.sum(FactKind::PaymentSucceeded, &["/amount_total"])),
        _ => Err(lacks("data.object.payment_status")),
    }
}

/// The refunds of a charge: individually if the event contains them, else their total.
fn refunded(charge: &Object<'_>) -> Facts {
    let shown = charge.get("/refunds/data").and_then(Value::as_array).filter(|refunds| !refunds.is_empty());
    if let Some(refunds) = shown {
        return refunds.iter().map(|each| refund(&Object::inner(each))).collect();
    }
    let total = charge.amount(&["/amount_refunded"])?;
    let added = charge.refunded_before().map(|before| (total - before).max(0));
    let in_all = Fact {
        amount: added,
        total: Some(total),
        reference: total.to_string(),
        ..charge.sum(FactKind::RefundedInAll, &["/amount_refunded"])?
    };
    Ok(vec![in_all])
}

fn refund(refund: &Object<'_>) -> Result<Fact, NotUnderstood> {
    match refund.text("/status") {
        Some("pending" | "requires_action") => named(refund, FactKind::RefundPending),
        Some("failed" | "canceled") => named(refund, FactKind::RefundFailed),
        _ => named(refund, FactKind::RefundProcessed),
    }
}

fn named(refund: &Object<'_>, kind: FactKind) -> Result<Fact, NotUnderstood> {
    let reference = refund.id_of("/id").ok_or_else(|| lacks("data.object.id"))?;
    let message = refund.text("/failure_reason").map(str::to_owned);
    Ok(Fact { reference, message, ..refund.sum(kind, &["/amount"])? })
}

fn disputed(dispute: &Object<'_>, kind: FactKind) -> Result<Fact, NotUnderstood> {
    let reference = dispute.id_of("/id").ok_or_else(|| lacks("data.object.id"))?;
    Ok(Fact { reference, message: dispute.text("/reason").map(str::to_owned), ..dispute.note(kind, &["/amount"]) })
}

#[cfg(test)]
mod tests;
