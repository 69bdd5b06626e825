//! The state that follows from the facts about a payment, and the events that are due. Both are pure functions of the *set* of
//! facts, so the order and the repetition of callbacks do not matter. The set of due events only grows, so a published event never
//! has to be taken back. Refunds are published as the growth of one sum ([`reported_refunds`]).

use std::collections::{BTreeMap, BTreeSet};
use std::iter;

use crate::gateways::facts::{Fact, FactKind, Normalised};
use crate::gateways::money::Currency;
use crate::kernel::ids::{CustomerId, OrderId};

/// What the facts about a payment amount to, in whatever order they arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// A payment, or a payment method saved for later.
    pub kind: Kind,
    /// The status of the payment.
    pub status: Status,
    /// The amount of the payment, in minor units.
    pub amount: Option<i64>,
    /// The refunded part of the amount, in minor units.
    pub refunded: i64,
    /// The currency of both amounts.
    pub currency: Option<Currency>,
    /// The status of the worst dispute about the payment.
    pub dispute: Option<Dispute>,
    /// The order that was paid.
    pub order: Option<OrderId>,
    /// The customer who paid.
    pub customer: Option<CustomerId>,
}

crate::text_enum! {
    /// The kind of a transaction.
    pub enum Kind {
        /// A payment.
        Payment = "payment",
        /// A payment method saved for later.
        Setup = "setup",
    }
}

crate::text_enum! {
    /// The status of a payment.
    pub enum Status {
        /// Neither paid nor failed.
        Pending = "pending",
        /// An attempt failed, and nothing has been paid.
        Failed = "failed",
        /// Paid.
        Succeeded = "succeeded",
        /// Paid, and partially refunded.
        PartiallyRefunded = "partially_refunded",
        /// Paid, and fully refunded.
        Refunded = "refunded",
        /// Paid, and a dispute is open or lost.
        Disputed = "disputed",
    }
}

crate::text_enum! {
    /// The status of a dispute, from best to worst.
    #[derive(PartialOrd, Ord)]
    pub enum Dispute {
        /// Decided for the company, which keeps the money.
        Won = "won",
        /// Decided for the payer; the money is lost.
        Lost = "lost",
        /// Not decided yet.
        Open = "open",
    }
}

/// An event that is due once for a payment, with the refund or dispute that it is about; all but [`Normalised::RefundProcessed`].
pub type Due = (Normalised, String);

impl State {
    /// Computes the state from the facts.
    pub fn of(facts: &[Fact]) -> Self {
        let any = |kind| facts.iter().any(|fact| fact.kind == kind);
        let paid = [FactKind::PaymentSucceeded, FactKind::PaymentFailed, FactKind::PaymentPending]
            .into_iter()
            .find_map(|kind| facts.iter().filter(|fact| fact.kind == kind).max_by_key(|fact| (fact.amount, currency(fact))));
        let (amount, refunded, dispute) = (paid.and_then(|fact| fact.amount), refunded(facts), dispute(facts));
        let is_setup = paid.is_none() && any(FactKind::SetupSucceeded);
        let status = match dispute {
            Some(Dispute::Open | Dispute::Lost) => Status::Disputed,
            _ if refunded > 0 && amount.is_some_and(|amount| refunded >= amount) => Status::Refunded,
            _ if refunded > 0 => Status::PartiallyRefunded,
            _ if any(FactKind::PaymentSucceeded) || is_setup => Status::Succeeded,
            // A payment that failed after it was pending counts as failed. The order of two attempts is unknown.
            _ if any(FactKind::PaymentFailed) => Status::Failed,
            _ => Status::Pending,
        };
        Self {
            kind: if is_setup { Kind::Setup } else { Kind::Payment },
            status,
            amount,
            refunded,
            currency: paid.and_then(|fact| fact.currency.clone()).or_else(|| facts.iter().filter_map(currency).min().cloned()),
            dispute,
            order: facts.iter().filter_map(|fact| fact.order).min(),
            customer: facts.iter().filter_map(|fact| fact.customer).min(),
        }
    }
}

fn currency(fact: &Fact) -> Option<&Currency> {
    fact.currency.as_ref()
}

/// The amounts of the refunds of this kind by reference. Of repeated facts about one refund, the largest amount counts.
fn refunds(facts: &[Fact], kind: FactKind) -> BTreeMap<&str, i64> {
    let mut refunds = BTreeMap::new();
    for fact in facts.iter().filter(|fact| fact.kind == kind) {
        let amount = refunds.entry(fact.reference.as_str()).or_insert(0);
        *amount = fact.amount.unwrap_or(0).max(*amount);
    }
    refunds
}

/// The refunded amount. A refund that was made and then failed does not count. A gateway that reports both each refund and the
/// total reports the same money twice, so the larger of the two sums counts.
fn refunded(facts: &[Fact]) -> i64 {
    let (made, failed) = (refunds(facts, FactKind::RefundProcessed), refunds(facts, FactKind::RefundFailed));
    let one_by_one: i64 = made.iter().filter(|(id, _)| !failed.contains_key(*id)).map(|(_, amount)| amount).sum();
    one_by_one.max(in_all(facts) - failed.values().sum::<i64>()).max(0)
}

fn dispute(facts: &[Fact]) -> Option<Dispute> {
    let mut disputes = BTreeMap::new();
    for fact in facts {
        let reported = match fact.kind {
            FactKind::DisputeCreated | FactKind::DisputeUpdated => Dispute::Open,
            FactKind::DisputeWon => Dispute::Won,
            FactKind::DisputeLost => Dispute::Lost,
            _ => continue,
        };
        // A decision is final, whatever arrives later about the time before it.
        let current = disputes.entry(&fact.reference).or_insert(reported);
        if *current == Dispute::Open || reported == Dispute::Lost {
            *current = reported;
        }
    }
    disputes.into_values().max()
}

/// All events that the facts make due, except for refunds. More facts never make fewer events due.
pub fn due(facts: &[Fact]) -> BTreeSet<Due> {
    let mut due = BTreeSet::new();
    for fact in facts {
        match fact.kind {
            FactKind::PaymentSucceeded => due.insert((Normalised::PaymentSucceeded, String::new())),
            FactKind::PaymentFailed => due.insert((Normalised::PaymentFailed, String::new())),
            FactKind::PaymentPending => due.insert((Normalised::PaymentPending, String::new())),
            FactKind::SetupSucceeded => due.insert((Normalised::SetupSucceeded, String::new())),
            FactKind::RefundFailed => due.insert((Normalised::RefundFailed, fact.reference.clone())),
            FactKind::DisputeCreated => due.insert((Normalised::ChargebackCreated, fact.reference.clone())),
            FactKind::RefundPending | FactKind::RefundProcessed | FactKind::RefundedInAll => continue,
            FactKind::DisputeUpdated | FactKind::DisputeWon | FactKind::DisputeLost => continue,
        };
    }
    due
}

/// The sum of the refunds that the facts report. `refund.processed` is published whenever it grows, with the amount of the growth, so
/// the published amounts always add up to it.
///
/// A refund that is reported both individually and as part of a new total can only be matched by its amount: for each amount, the
/// larger count of the two applies. Every fact then adds the amount of its own refund or nothing, in whatever order the facts arrive.
///
/// A total that does not say what is new in it cannot be matched. From the first of these on, the largest total is the least that
/// was refunded, and what one fact adds depends on those before it.
pub fn reported_refunds(facts: &[Fact]) -> i64 {
    let in_parts: i64 = counts(&refunds(facts, FactKind::RefundProcessed), &sums(facts))
        .into_iter()
        .flat_map(|(amount, count)| iter::repeat_n(amount, count))
        .sum();
    match facts.iter().any(|fact| fact.total.is_some() && fact.amount.is_none()) {
        true => in_parts.max(in_all(facts)),
        false => in_parts,
    }
}

/// The largest total of all refunds.
fn in_all(facts: &[Fact]) -> i64 {
    facts.iter().filter_map(|fact| fact.total).max().unwrap_or(0)
}

/// The amount that each new total of all refunds added, by total.
fn sums(facts: &[Fact]) -> BTreeMap<&str, i64> {
    let mut sums = refunds(facts, FactKind::RefundedInAll);
    sums.retain(|_, added| *added > 0);
    sums
}

fn counts(named: &BTreeMap<&str, i64>, summed: &BTreeMap<&str, i64>) -> BTreeMap<i64, usize> {
    let mut counts = BTreeMap::new();
    for amounts in [named, summed] {
        let mut these = BTreeMap::<i64, usize>::new();
        for amount in amounts.values() {
            *these.entry(*amount).or_default() += 1;
        }
        for (amount, count) in these {
            let most = counts.entry(amount).or_insert(count);
            *most = count.max(*most);
        }
    }
    counts
}

#[cfg(test)]
mod tests;
