//! What follows from the facts about a payment: its state, and which events have been due. Both are pure functions of the *set* of facts,
//! so that neither the order nor the repetition of callbacks matters; what is due only ever grows, so that nothing published is regretted.

use std::collections::{BTreeMap, BTreeSet};

use crate::gateways::money::Currency;
use crate::gateways::payments::{Fact, FactKind, Normalised};
use crate::kernel::ids::{CustomerId, OrderId};

/// Where a payment stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// A payment, or the saving of a way to pay.
    pub kind: Kind,
    /// How far it has come.
    pub status: Status,
    /// What was to be paid, in minor units.
    pub amount: Option<i64>,
    /// What of it was given back.
    pub refunded: i64,
    /// What both are in.
    pub currency: Option<Currency>,
    /// How the worst dispute about it stands.
    pub dispute: Option<Dispute>,
    /// The order it was for.
    pub order: Option<OrderId>,
    /// Who paid.
    pub customer: Option<CustomerId>,
}

crate::words! {
    /// What a transaction is.
    pub enum Kind {
        /// Money.
        Payment = "payment",
        /// A way to pay, saved for later.
        Setup = "setup",
    }
}

crate::words! {
    /// How far a payment has come.
    pub enum Status {
        /// Neither paid nor failed.
        Pending = "pending",
        /// Nothing was paid so far.
        Failed = "failed",
        /// Paid.
        Succeeded = "succeeded",
        /// Paid, and some of it given back.
        PartiallyRefunded = "partially_refunded",
        /// Paid, and all of it given back.
        Refunded = "refunded",
        /// Paid, and the payer wants it back, or has got it back, against the company's will.
        Disputed = "disputed",
    }
}

crate::words! {
    /// How a dispute stands; a later one is worse.
    #[derive(PartialOrd, Ord)]
    pub enum Dispute {
        /// The company may keep the money.
        Won = "won",
        /// The money is gone.
        Lost = "lost",
        /// Undecided.
        Open = "open",
    }
}

/// An event that is due once for a payment: what it tells, and which refund or dispute it tells of.
pub type Due = (Normalised, String);

impl State {
    /// Folds the facts.
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
            // A payment that failed after it was pending is failed, and of two attempts nobody tells which came first.
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

/// Refunds of the kind, each once; of a repetition that says less, what says more counts.
fn refunds(facts: &[Fact], kind: FactKind) -> BTreeMap<&str, i64> {
    let mut refunds = BTreeMap::new();
    for fact in facts.iter().filter(|fact| fact.kind == kind) {
        let amount = refunds.entry(fact.reference.as_str()).or_insert(0);
        *amount = fact.amount.unwrap_or(0).max(*amount);
    }
    refunds
}

/// A refund that was made and came back counts for nothing. A gateway that tells of each refund and of their sum tells the same twice.
fn refunded(facts: &[Fact]) -> i64 {
    let (made, failed) = (refunds(facts, FactKind::RefundProcessed), refunds(facts, FactKind::RefundFailed));
    let one_by_one: i64 = made.iter().filter(|(id, _)| !failed.contains_key(*id)).map(|(_, amount)| amount).sum();
    let in_all = facts.iter().filter_map(|fact| fact.total).max().unwrap_or(0) - failed.values().sum::<i64>();
    one_by_one.max(in_all).max(0)
}

fn dispute(facts: &[Fact]) -> Option<Dispute> {
    let mut disputes = BTreeMap::new();
    for fact in facts {
        let told = match fact.kind {
            FactKind::DisputeCreated | FactKind::DisputeUpdated => Dispute::Open,
            FactKind::DisputeWon => Dispute::Won,
            FactKind::DisputeLost => Dispute::Lost,
            _ => continue,
        };
        // Decided is decided, whatever is told of the time before.
        let stands = disputes.entry(&fact.reference).or_insert(told);
        if *stands == Dispute::Open || told == Dispute::Lost {
            *stands = told;
        }
    }
    disputes.into_values().max()
}

/// Every event that the facts make due. More facts make more due, never less.
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
    // A refund told by itself and by the sum has no name in common but its amount: of each amount there are as many as either tells.
    for (amount, count) in counts(&refunds(facts, FactKind::RefundProcessed), &sums(facts)) {
        due.extend((0..count).map(|number| (Normalised::RefundProcessed, format!("{amount} #{number}"))));
    }
    due
}

/// What each new sum of all refunds added, by the sum.
fn sums(facts: &[Fact]) -> BTreeMap<&str, i64> {
    let mut sums = refunds(facts, FactKind::RefundedInAll);
    sums.retain(|_, added| *added > 0);
    sums
}

fn counts(named: &BTreeMap<&str, i64>, summed: &BTreeMap<&str, i64>) -> BTreeMap<i64, usize> {
    let mut counts = BTreeMap::new();
    for told in [named, summed] {
        let mut these = BTreeMap::<i64, usize>::new();
        for amount in told.values() {
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
