//! The facts about a payment, taken one by one.

use std::collections::{BTreeMap, BTreeSet};

use crate::gateways::facts::state::{Dispute, Kind, Refunds, State, Status};
use crate::gateways::facts::{Fact, FactKind, Normalised};
use crate::gateways::money::Currency;
use crate::kernel::ids::{CustomerId, OrderId};

/// What follows from the facts about a payment so far.
#[derive(Clone, Debug, Default)]
pub struct KnownFacts {
    number: usize,
    /// What was to be paid, by how far the payment got. The last one counts: a payment that failed after it was pending counts as failed.
    /// The order of two attempts is unknown, so of several sums the largest counts.
    paid: BTreeMap<FactKind, (Option<i64>, Option<Currency>)>,
    is_set_up: bool,
    refunds: Refunds,
    /// By reference.
    disputes: BTreeMap<String, Dispute>,
    currency: Option<Currency>,
    order: Option<OrderId>,
    customer: Option<CustomerId>,
    /// The events that have become due, each with the refund or dispute that it is about; all but [`Normalised::RefundProcessed`].
    due: BTreeSet<(Normalised, String)>,
}

impl KnownFacts {
    /// The number of facts.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Adds a fact. Returns the events that become due by it, with their amounts as far as the fact says so.
    pub fn add(&mut self, fact: &Fact) -> Vec<(Normalised, Option<i64>)> {
        self.number += 1;
        least(&mut self.currency, fact.currency.as_ref());
        least(&mut self.order, fact.order.as_ref());
        least(&mut self.customer, fact.customer.as_ref());
        match fact.kind {
            FactKind::PaymentPending | FactKind::PaymentFailed | FactKind::PaymentSucceeded => {
                let sum = (fact.amount, fact.currency.clone());
                let largest = self.paid.entry(fact.kind).or_insert_with(|| sum.clone());
                *largest = sum.max(largest.clone());
            }
            FactKind::SetupSucceeded => self.is_set_up = true,
            FactKind::DisputeCreated | FactKind::DisputeUpdated => self.dispute(&fact.reference, Dispute::Open),
            FactKind::DisputeWon => self.dispute(&fact.reference, Dispute::Won),
            FactKind::DisputeLost => self.dispute(&fact.reference, Dispute::Lost),
            FactKind::RefundPending | FactKind::RefundProcessed | FactKind::RefundFailed | FactKind::RefundedInAll => {}
        }
        let reported = self.refunds.reported();
        self.refunds.add(fact);
        let growth = self.refunds.reported() - reported;
        let due = once(fact).filter(|due| self.due.insert(due.clone())).map(|(normalised, _)| (normalised, fact.amount));
        due.into_iter().chain((growth > 0).then_some((Normalised::RefundProcessed, Some(growth)))).collect()
    }

    /// A decision is final, whatever arrives later about the time before it.
    fn dispute(&mut self, reference: &str, reported: Dispute) {
        match self.disputes.get_mut(reference) {
            None => _ = self.disputes.insert(reference.to_owned(), reported),
            Some(current) if *current == Dispute::Open || reported == Dispute::Lost => *current = reported,
            Some(_) => {}
        }
    }

    fn sum(&self) -> Option<&(Option<i64>, Option<Currency>)> {
        self.paid.values().next_back()
    }

    /// The amount of the payment, in minor units.
    pub fn amount(&self) -> Option<i64> {
        self.sum()?.0
    }

    /// The currency of its amounts.
    pub fn currency(&self) -> Option<&Currency> {
        self.sum().and_then(|(_, currency)| currency.as_ref()).or(self.currency.as_ref())
    }

    /// The order that was paid.
    pub fn order(&self) -> Option<OrderId> {
        self.order
    }

    /// The customer who paid.
    pub fn customer(&self) -> Option<CustomerId> {
        self.customer
    }

    /// The state; `None` if nothing is known.
    pub fn state(&self) -> Option<State> {
        let (amount, refunded) = (self.amount(), self.refunds.refunded());
        let dispute = self.disputes.values().copied().max();
        let is_setup = self.paid.is_empty() && self.is_set_up;
        let status = match dispute {
            Some(Dispute::Open | Dispute::Lost) => Status::Disputed,
            _ if refunded > 0 && amount.is_some_and(|amount| refunded >= amount) => Status::Refunded,
            _ if refunded > 0 => Status::PartiallyRefunded,
            _ if self.paid.contains_key(&FactKind::PaymentSucceeded) || is_setup => Status::Succeeded,
            _ if self.paid.contains_key(&FactKind::PaymentFailed) => Status::Failed,
            _ => Status::Pending,
        };
        (self.number > 0).then(|| State {
            kind: if is_setup { Kind::Setup } else { Kind::Payment },
            status,
            amount,
            refunded,
            currency: self.currency().cloned(),
            dispute,
            order: self.order,
            customer: self.customer,
        })
    }
}

/// The event that this fact makes due, if no other has.
fn once(fact: &Fact) -> Option<(Normalised, String)> {
    match fact.kind {
        FactKind::PaymentSucceeded => Some((Normalised::PaymentSucceeded, String::new())),
        FactKind::PaymentFailed => Some((Normalised::PaymentFailed, String::new())),
        FactKind::PaymentPending => Some((Normalised::PaymentPending, String::new())),
        FactKind::SetupSucceeded => Some((Normalised::SetupSucceeded, String::new())),
        FactKind::RefundFailed => Some((Normalised::RefundFailed, fact.reference.clone())),
        FactKind::DisputeCreated => Some((Normalised::ChargebackCreated, fact.reference.clone())),
        FactKind::RefundPending | FactKind::RefundProcessed | FactKind::RefundedInAll => None,
        FactKind::DisputeUpdated | FactKind::DisputeWon | FactKind::DisputeLost => None,
    }
}

/// Of several, the least is kept: it does not depend on their order.
fn least<T: Ord + Clone>(kept: &mut Option<T>, told: Option<&T>) {
    if let Some(told) = told
        && kept.as_ref().is_none_or(|kept| told < kept)
    {
        *kept = Some(told.clone());
    }
}
