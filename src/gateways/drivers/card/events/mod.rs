//! The meaning of the card provider's events.

use std::iter;

use serde_json::Value;

use crate::gateways::drivers::card::object::{Object, lacks};
use crate::gateways::drivers::{NotUnderstood, PaymentUpdate, Remarks, shown};
use crate::gateways::facts::{Fact, FactKind};

type Facts = Result<Vec<Fact>, NotUnderstood>;

/// Reads the facts from the object of an event.
type Reader = fn(&Object<'_>, &mut Remarks) -> Facts;

/// The event types that are understood, and how they are read.
fn reader(kind: &str) -> Option<Reader> {
    Some(match kind {
        "payment_intent.succeeded" => |intent, remarks| paid(intent, "/amount_received", remarks),
        "payment_intent.payment_failed" => |intent, remarks| Ok(failed(intent, "/last_payment_error/message", remarks)),
        "payment_intent.canceled" => |intent, remarks| Ok(cancelled(intent, "/cancellation_reason", remarks)),
        "payment_intent.processing" | "payment_intent.amount_capturable_updated" => {
            |intent, remarks| Ok(pending(intent, "/amount", remarks))
        }
        "checkout.session.completed" => completed,
        "checkout.session.async_payment_succeeded" => {
            |session, remarks| one(session.sum(FactKind::PaymentSucceeded, &["/amount_total"], remarks))
        }
        "checkout.session.async_payment_failed" => {
            |session, remarks| Ok(vec![session.note(FactKind::PaymentFailed, &["/amount_total"], remarks)])
        }
        "checkout.session.expired" => |session, remarks| {
            Ok(vec![Fact { message: Some("expired".to_owned()), ..session.note(FactKind::PaymentFailed, &["/amount_total"], remarks) }])
        },
        "charge.succeeded" => |charge, remarks| match is_authorised_only(charge) {
            true => Ok(pending(charge, "/amount", remarks)),
            false => one(charge.sum(FactKind::PaymentSucceeded, &["/amount_captured", "/amount"], remarks)),
        },
        "charge.captured" => |charge, remarks| paid(charge, "/amount_captured", remarks),
        "charge.pending" => |charge, remarks| Ok(pending(charge, "/amount", remarks)),
        "charge.failed" => |charge, remarks| Ok(failed(charge, "/failure_message", remarks)),
        "charge.expired" => |charge, remarks| Ok(cancelled(charge, "/failure_message", remarks)),
        "charge.refunded" => refunded,
        "refund.created" | "refund.updated" | "charge.refund.updated" => |refund, remarks| one(self::refund(refund, remarks)),
        "refund.failed" => |refund, remarks| one(named(refund, FactKind::RefundFailed, remarks)),
        "charge.dispute.created" => |dispute, remarks| one(disputed(dispute, FactKind::DisputeCreated, remarks)),
        "charge.dispute.updated" | "charge.dispute.funds_withdrawn" | "charge.dispute.funds_reinstated" => {
            |dispute, remarks| one(disputed(dispute, FactKind::DisputeUpdated, remarks))
        }
        "charge.dispute.closed" => closed,
        "setup_intent.succeeded" => |intent, remarks| Ok(vec![intent.fact(FactKind::SetupSucceeded, remarks)]),
        _ => return None,
    })
}

/// Whether events of this type are understood.
pub fn is_known(kind: &str) -> bool {
    reader(kind).is_some()
}

pub fn understand(kind: &str, object: &Object<'_>) -> Result<Option<PaymentUpdate>, NotUnderstood> {
    let Some(read) = reader(kind) else { return Ok(None) };
    let mut remarks = Remarks::default();
    let facts = read(object, &mut remarks)?;
    if facts.is_empty() {
        return Ok(None);
    }
    let transaction = match facts.first().map(|fact| fact.kind) {
        Some(FactKind::SetupSucceeded) => object.id_of("/setup_intent").map_or_else(|| object.transaction(), Ok)?,
        _ => object.transaction()?,
    };
    Ok(Some(PaymentUpdate { transaction, facts, payer: object.id_of("/customer"), remarks }))
}

fn one(fact: Result<Fact, NotUnderstood>) -> Facts {
    fact.map(|fact| vec![fact])
}

fn pending(object: &Object<'_>, amount: &str, remarks: &mut Remarks) -> Vec<Fact> {
    vec![object.note(FactKind::PaymentPending, &[amount], remarks)]
}

fn failed(object: &Object<'_>, message: &str, remarks: &mut Remarks) -> Vec<Fact> {
    vec![Fact { message: object.text(message).map(str::to_owned), ..object.note(FactKind::PaymentFailed, &["/amount"], remarks) }]
}

/// A payment that ended without being paid. What had been held is released, which the provider may report as a refund besides.
fn cancelled(object: &Object<'_>, message: &str, remarks: &mut Remarks) -> Vec<Fact> {
    let failed = failed(object, message, remarks);
    let is_paid = |part: &str| object.amount_if_any(part).ok().flatten().is_some_and(|amount| amount > 0);
    let held = match object.held_nothing() || is_paid("/amount_received") || is_paid("/amount_captured") {
        true => 0,
        false => object.amount_if_any("/amount").ok().flatten().unwrap_or(0),
    };
    failed.into_iter().chain(released(object, held, remarks)).collect()
}

/// A completed session is paid, pending, or has saved a payment method. The price of a subscription is reported by the payment
/// intents of its invoices.
fn completed(session: &Object<'_>, remarks: &mut Remarks) -> Facts {
    match (session.text("/mode"), session.text("/payment_status")) {
        (Some("subscription"), _) if session.get("/payment_intent").is_none() => Ok(Vec::new()),
        (Some("setup"), _) => Ok(vec![session.fact(FactKind::SetupSucceeded, remarks)]),
        (_, Some("unpaid")) => Ok(pending(session, "/amount_total", remarks)),
        // Only a session with one of these statuses is paid.
        (_, Some("paid" | "no_payment_required")) => one(session.sum(FactKind::PaymentSucceeded, &["/amount_total"], remarks)),
        _ => Err(lacks("data.object.payment_status")),
    }
}

/// Whether the amount of the charge is only authorised, and nothing has been paid.
fn is_authorised_only(charge: &Object<'_>) -> bool {
    charge.get("/captured") == Some(&Value::Bool(false))
}

/// The release of what was not captured, and the captured amount: all that was authorised, or a part. The release comes first, because refunds that
/// have waited for the payment to succeed are published when it does, and one of them may be the release. If more than the release was returned, the
/// total of it follows: a total of before the release, less the release, would be too little.
fn paid(object: &Object<'_>, part: &str, remarks: &mut Remarks) -> Facts {
    let paid = object.sum(FactKind::PaymentSucceeded, &[part, "/amount"], remarks)?;
    let rest = released_rest(object, paid.amount)?;
    let is_refunded = rest > 0 && object.amount_if_any("/amount_refunded")?.is_some_and(|returned| returned > rest);
    let refunded = if is_refunded { Some(in_all(object, rest, remarks)?) } else { None };
    Ok(released(object, rest, remarks).into_iter().chain(iter::once(paid)).chain(refunded).collect())
}

/// The part of the authorisation that was not captured, if the provider counts it among the refunds. Before the last of several captures, less than
/// that has been returned.
fn released_rest(object: &Object<'_>, captured: Option<i64>) -> Result<i64, NotUnderstood> {
    let rest = object.amount_if_any("/amount")?.zip(captured).map_or(0, |(authorised, captured)| authorised - captured);
    let is_counted = object.counts_releases && object.amount_if_any("/amount_refunded")?.is_none_or(|returned| returned >= rest);
    Ok(if is_counted { rest } else { 0 })
}

/// The release of a part of the authorised amount, and the whole of it. The provider counts the release among the refunds of the charge.
fn released(object: &Object<'_>, amount: i64, remarks: &mut Remarks) -> Option<Fact> {
    let fact = || {
        let authorised = object.note(FactKind::AuthorisationReleased, &["/amount"], remarks);
        Fact { amount: Some(amount), total: authorised.amount, ..authorised }
    };
    (amount > 0).then(fact)
}

/// The released part of the authorisation, and the refunds of the captured part: individually if the event contains them, else their total.
fn refunded(charge: &Object<'_>, remarks: &mut Remarks) -> Facts {
    if is_authorised_only(charge) {
        let returned = charge.amount_if_any("/amount_refunded")?.unwrap_or(0);
        let cancelled = Fact { message: Some("released".to_owned()), ..charge.note(FactKind::PaymentFailed, &["/amount"], remarks) };
        return Ok([Some(cancelled), released(charge, returned, remarks)].into_iter().flatten().collect());
    }
    let released = released(charge, released_rest(charge, charge.amount_if_any("/amount_captured")?)?, remarks);
    let shown = charge.get("/refunds/data").and_then(Value::as_array).filter(|refunds| !refunds.is_empty());
    let refunds = match shown {
        Some(refunds) => refunds.iter().map(|each| refund(&Object::inner(each), remarks)).collect::<Facts>()?,
        None => vec![in_all(charge, released.as_ref().and_then(|fact| fact.amount).unwrap_or(0), remarks)?],
    };
    Ok(released.into_iter().chain(refunds).collect())
}

/// The total of all refunds, which includes the released amount. Nobody knows what is new in it if that may be the release: only a total before that
/// counted the release already says how much was refunded since. What is taken for the release may have been a refund, as a later capture shows.
fn in_all(charge: &Object<'_>, released: i64, remarks: &mut Remarks) -> Result<Fact, NotUnderstood> {
    let total = charge.amount(&["/amount_refunded"])?;
    let is_refund = |before: &i64| released == 0 || (*before >= released && total - before != released);
    let added = charge.refunded_before()?.filter(is_refund).map(|before| (total - before).max(0));
    let fact = charge.sum(FactKind::RefundedInAll, &["/amount_refunded"], remarks)?;
    Ok(Fact { amount: added, total: Some(total), reference: total.to_string(), ..fact })
}

fn refund(refund: &Object<'_>, remarks: &mut Remarks) -> Result<Fact, NotUnderstood> {
    match refund.text("/status") {
        Some("pending" | "requires_action") => named(refund, FactKind::RefundPending, remarks),
        Some("failed" | "canceled") => named(refund, FactKind::RefundFailed, remarks),
        _ => named(refund, FactKind::RefundProcessed, remarks),
    }
}

fn named(refund: &Object<'_>, kind: FactKind, remarks: &mut Remarks) -> Result<Fact, NotUnderstood> {
    let reference = refund.id_of("/id").ok_or_else(|| lacks("data.object.id"))?;
    let message = refund.text("/failure_reason").map(str::to_owned);
    Ok(Fact { reference, message, ..refund.sum(kind, &["/amount"], remarks)? })
}

/// The end of a dispute. Without a status that decides it, nobody knows who has the money: it stays open.
fn closed(dispute: &Object<'_>, remarks: &mut Remarks) -> Facts {
    if !matches!(dispute.text("/status"), Some("won" | "lost" | "prevented" | "warning_closed")) {
        let status = dispute.get("/status").map_or_else(|| "no status".to_owned(), |status| format!("the status {}", shown(status)));
        remarks.add(format!("The dispute is closed with {status}, which does not say who won it."));
    }
    one(disputed(dispute, FactKind::DisputeUpdated, remarks))
}

/// A dispute, or an inquiry that may become one: it moves no money, and ends as an inquiry or with the status of a dispute. So does a dispute that was
/// prevented before it was filed. The status decides a dispute, whatever the type of the event.
fn disputed(dispute: &Object<'_>, kind: FactKind, remarks: &mut Remarks) -> Result<Fact, NotUnderstood> {
    let kind = match dispute.text("/status") {
        Some("warning_closed" | "prevented") => FactKind::InquiryClosed,
        Some(status) if status.starts_with("warning_") => FactKind::InquiryOpened,
        Some("won") => FactKind::DisputeWon,
        Some("lost") => FactKind::DisputeLost,
        _ => kind,
    };
    let reference = dispute.id_of("/id").ok_or_else(|| lacks("data.object.id"))?;
    Ok(Fact { reference, message: dispute.text("/reason").map(str::to_owned), ..dispute.note(kind, &["/amount"], remarks) })
}

#[cfg(test)]
mod tests;
