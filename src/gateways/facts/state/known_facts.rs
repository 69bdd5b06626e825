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
    /// What was paid in parts, by reference. The parts add up.
    captures: BTreeMap<String, i64>,
    /// How much of what had been authorised was released.
    released: i64,
    is_set_up: bool,
    /// By currency. A refund in another currency than the payment's is no refund of the payment.
    refunds: BTreeMap<Option<Currency>, Refunds>,
    /// By reference.
    disputes: BTreeMap<String, Dispute>,
    currency: Option<Currency>,
    order: Option<OrderId>,
    customer: Option<CustomerId>,
    /// The events that have become due, each with the capture, refund or dispute that it is about; all but [`Normalised::RefundProcessed`].
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
        let reported = self.reported(fact.currency.as_ref());
        match fact.kind {
            FactKind::PaymentPending | FactKind::PaymentFailed | FactKind::PaymentSucceeded => self.pay(fact),
            FactKind::AuthorisationReleased => self.released = fact.amount.unwrap_or(0).max(self.released),
            FactKind::SetupSucceeded => self.is_set_up = true,
            FactKind::DisputeCreated | FactKind::DisputeUpdated => self.dispute(&fact.reference, Dispute::Open),
            FactKind::DisputeWon => self.dispute(&fact.reference, Dispute::Won),
            FactKind::DisputeLost => self.dispute(&fact.reference, Dispute::Lost),
            FactKind::RefundPending | FactKind::RefundProcessed | FactKind::RefundFailed | FactKind::RefundedInAll => {
                self.refunds.entry(fact.currency.clone()).or_default().add(fact);
            }
            FactKind::InquiryOpened | FactKind::InquiryClosed => {}
        }
        let growth = self.reported(fact.currency.as_ref()) - reported;
        let due = once(fact).filter(|due| self.due.insert(due.clone())).map(|(normalised, _)| (normalised, fact.amount));
        due.into_iter().chain((growth > 0).then_some((Normalised::RefundProcessed, Some(growth)))).collect()
    }

    fn pay(&mut self, fact: &Fact) {
        let is_part = fact.kind == FactKind::PaymentSucceeded && !fact.reference.is_empty();
        let sum = (fact.amount.filter(|_| !is_part), fact.currency.clone());
        let largest = self.paid.entry(fact.kind).or_insert_with(|| sum.clone());
        *largest = sum.max(largest.clone());
        if is_part {
            let captured = self.captures.entry(fact.reference.clone()).or_default();
            *captured = fact.amount.unwrap_or(0).max(*captured);
        }
    }

    /// Whether all that had been authorised was released. A refund that the gateway reports then returns no money.
    fn was_never_paid(&self) -> bool {
        self.released > 0 && self.paid.contains_key(&FactKind::PaymentFailed) && !self.paid.contains_key(&FactKind::PaymentSucceeded)
    }

    /// The sum of the refunds in this currency that the facts report.
    fn reported(&self, currency: Option<&Currency>) -> i64 {
        if self.was_never_paid() {
            return 0;
        }
        self.refunds.get(&currency.cloned()).map_or(0, |refunds| refunds.reported(self.released))
    }

    /// The refunded amount of the payment.
    fn refunded(&self) -> i64 {
        if self.was_never_paid() {
            return 0;
        }
        self.refunds.get(&self.currency().cloned()).map_or(0, |refunds| refunds.refunded(self.released))
    }

    /// A decision is final, whatever arrives later about the time before it.
    fn dispute(&mut self, reference: &str, reported: Dispute) {
        match self.disputes.get_mut(reference) {
            None => _ = self.disputes.insert(reference.to_owned(), reported),
            Some(current) if *current == Dispute::Open || reported == Dispute::Lost => *current = reported,
            Some(_) => {}
        }
    }

    /// The amount of the payment, in minor units.
    fn amount(&self) -> Option<i64> {
        let (kind, (whole, _)) = self.paid.last_key_value()?;
        let in_parts = self.captures.values().copied().fold(0, i64::saturating_add);
        // The amount of a payment that was paid in parts is their sum, whatever else is known of it.
        if *kind == FactKind::PaymentSucceeded && !self.captures.is_empty() { (*whole).max(Some(in_parts)) } else { *whole }
    }

    /// The currency of its amounts.
    fn currency(&self) -> Option<&Currency> {
        self.paid.last_key_value().and_then(|(_, (_, currency))| currency.as_ref()).or(self.currency.as_ref())
    }

    /// The state; `None` if nothing is known.
    pub fn state(&self) -> Option<State> {
        let (amount, refunded) = (self.amount(), self.refunded());
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

/// The event that this fact makes due, if no other has. Whatever tells of a dispute first tells that there is one.
fn once(fact: &Fact) -> Option<(Normalised, String)> {
    match fact.kind {
        FactKind::PaymentSucceeded => Some((Normalised::PaymentSucceeded, fact.reference.clone())),
        FactKind::PaymentFailed => Some((Normalised::PaymentFailed, String::new())),
        FactKind::PaymentPending => Some((Normalised::PaymentPending, String::new())),
        FactKind::SetupSucceeded => Some((Normalised::SetupSucceeded, String::new())),
        FactKind::RefundFailed => Some((Normalised::RefundFailed, fact.reference.clone())),
        FactKind::DisputeCreated | FactKind::DisputeUpdated | FactKind::DisputeWon | FactKind::DisputeLost => {
            Some((Normalised::ChargebackCreated, fact.reference.clone()))
        }
        FactKind::RefundPending | FactKind::RefundProcessed | FactKind::RefundedInAll => None,
        FactKind::AuthorisationReleased | FactKind::InquiryOpened | FactKind::InquiryClosed => None,
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
