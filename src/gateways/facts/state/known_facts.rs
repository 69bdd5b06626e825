//! The facts about a payment, taken one by one.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::take;

use crate::gateways::facts::state::{Captures, Dispute, DueEvent, Kind, Refunds, State, Status};
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
    /// What was paid and released, by currency. Sums of different currencies do not add up: those in the payment's currency are its amount.
    captures: BTreeMap<Option<Currency>, Captures>,
    is_set_up: bool,
    /// By currency. A refund in another currency than the payment's is no refund of the payment.
    refunds: BTreeMap<Option<Currency>, Refunds>,
    /// The facts about refunds that came while nothing had been paid, as far as was known. They count from when the payment succeeds.
    waiting: Vec<Fact>,
    /// What was published as refunded, and turned out to have been released, by currency. A later capture may show that it was refunded after all.
    untrue: BTreeMap<Option<Currency>, i64>,
    /// By reference.
    disputes: BTreeMap<String, Dispute>,
    currency: Option<Currency>,
    order: Option<OrderId>,
    customer: Option<CustomerId>,
    /// The events that have become due, each with the refund or dispute that it is about; all but those that are published by growth.
    due: BTreeSet<(Normalised, String)>,
}

impl KnownFacts {
    /// The number of facts.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Adds a fact. Returns the events that become due by it: its own, and those of refunds that had waited for the payment to succeed.
    pub fn add(&mut self, fact: &Fact) -> Vec<DueEvent> {
        self.number += 1;
        least(&mut self.currency, fact.currency.as_ref());
        least(&mut self.order, fact.order.as_ref());
        least(&mut self.customer, fact.customer.as_ref());
        let own = once(fact).filter(|due| self.due.insert(due.clone()));
        let mut due: Vec<_> = own.map(|(normalised, _)| DueEvent::of(fact, normalised, fact.amount)).into_iter().collect();
        due.extend(self.take_in(fact));
        if !self.is_unpaid() {
            for refund in take(&mut self.waiting) {
                due.extend(self.take_in(&refund));
            }
        }
        due
    }

    /// What follows from a fact for the payment. Returns the events by which the paid and the refunded sum grow.
    fn take_in(&mut self, fact: &Fact) -> Vec<DueEvent> {
        let reported = self.reported(fact.currency.as_ref());
        let mut due = Vec::new();
        match fact.kind {
            FactKind::PaymentPending | FactKind::PaymentFailed => self.pay(fact),
            FactKind::PaymentSucceeded => due.extend(self.succeed(fact)),
            FactKind::AuthorisationReleased => self.captures.entry(fact.currency.clone()).or_default().release(fact),
            FactKind::SetupSucceeded => self.is_set_up = true,
            FactKind::DisputeCreated | FactKind::DisputeUpdated => self.dispute(&fact.reference, Dispute::Open),
            FactKind::DisputeWon => self.dispute(&fact.reference, Dispute::Won),
            FactKind::DisputeLost => self.dispute(&fact.reference, Dispute::Lost),
            FactKind::RefundPending | FactKind::RefundProcessed | FactKind::RefundFailed | FactKind::RefundedInAll => self.refund(fact),
            FactKind::InquiryOpened | FactKind::InquiryClosed => {}
        }
        let growth = self.reported(fact.currency.as_ref()) - reported;
        due.extend(self.refunded_more(fact, growth));
        due
    }

    /// The event of a growth of the refunded sum. A fact that is not about a refund, such as a capture that shows that less was released, names none,
    /// and what was published before is not published again.
    fn refunded_more(&mut self, fact: &Fact, growth: i64) -> Option<DueEvent> {
        if growth > 0 && matches!(fact.kind, FactKind::RefundProcessed | FactKind::RefundedInAll) {
            return Some(DueEvent::of(fact, Normalised::RefundProcessed, Some(growth)));
        }
        if growth == 0 {
            return None;
        }
        let untrue = self.untrue.entry(fact.currency.clone()).or_default();
        let news = growth.saturating_sub(*untrue);
        *untrue = news.saturating_neg().max(0);
        let refund = Fact { currency: fact.currency.clone(), ..Fact::new(FactKind::RefundProcessed) };
        (news > 0).then(|| DueEvent::of(&refund, Normalised::RefundProcessed, Some(news)))
    }

    fn refund(&mut self, fact: &Fact) {
        if self.is_unpaid() {
            self.waiting.push(fact.clone());
        } else {
            self.refunds.entry(fact.currency.clone()).or_default().add(fact);
        }
    }

    fn pay(&mut self, fact: &Fact) {
        let sum = (fact.amount, fact.currency.clone());
        let largest = self.paid.entry(fact.kind).or_insert_with(|| sum.clone());
        *largest = sum.max(largest.clone());
    }

    /// The first success has an event, and then each by which the paid sum grows.
    fn succeed(&mut self, fact: &Fact) -> Option<DueEvent> {
        let is_first = !self.paid.contains_key(&FactKind::PaymentSucceeded);
        self.pay(fact);
        let growth = fact.amount.map_or(0, |amount| self.captures.entry(fact.currency.clone()).or_default().add(&fact.reference, amount));
        let amount = if is_first { fact.amount } else { Some(growth) };
        (is_first || growth > 0).then(|| DueEvent::of(fact, Normalised::PaymentSucceeded, amount))
    }

    /// Whether nothing has been paid, as far as is known: the amount is at most held, or the payment failed. What a gateway then reports as a refund is
    /// the release of what was held, which may never have been told, or is ahead of the payment. A payment of which nothing else is known was paid: its
    /// beginning may never have been told.
    fn is_unpaid(&self) -> bool {
        let is_known = |kind| self.paid.contains_key(&kind);
        !is_known(FactKind::PaymentSucceeded) && (is_known(FactKind::PaymentPending) || is_known(FactKind::PaymentFailed))
    }

    /// The sum of the refunds in this currency that the facts report, without those that wait.
    fn reported(&self, currency: Option<&Currency>) -> i64 {
        self.refunds.get(&currency.cloned()).map_or(0, |refunds| refunds.reported(self.released(currency)))
    }

    /// The refunded amount of the payment.
    fn refunded(&self) -> i64 {
        if self.is_unpaid() {
            return 0;
        }
        let currency = self.currency();
        self.refunds.get(&currency.cloned()).map_or(0, |refunds| refunds.refunded(self.released(currency)))
    }

    fn released(&self, currency: Option<&Currency>) -> i64 {
        self.captures.get(&currency.cloned()).map_or(0, Captures::released)
    }

    /// A decision is final, whatever arrives later about the time before it.
    fn dispute(&mut self, reference: &str, reported: Dispute) {
        match self.disputes.get_mut(reference) {
            None => _ = self.disputes.insert(reference.to_owned(), reported),
            Some(current) if *current == Dispute::Open || reported == Dispute::Lost => *current = reported,
            Some(_) => {}
        }
    }

    /// The amount of the payment, in minor units: what was paid, else what is to be paid.
    fn amount(&self) -> Option<i64> {
        let (kind, (amount, currency)) = self.paid.last_key_value()?;
        if *kind == FactKind::PaymentSucceeded { amount.and_then(|_| self.captures.get(currency)).map(Captures::sum) } else { *amount }
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

/// The event that this fact makes due, if no other has. Whatever tells of a dispute first tells that there is one. What was paid and refunded is
/// published by growth.
fn once(fact: &Fact) -> Option<(Normalised, String)> {
    match fact.kind {
        FactKind::PaymentFailed => Some((Normalised::PaymentFailed, String::new())),
        FactKind::PaymentPending => Some((Normalised::PaymentPending, String::new())),
        FactKind::SetupSucceeded => Some((Normalised::SetupSucceeded, String::new())),
        FactKind::RefundFailed => Some((Normalised::RefundFailed, fact.reference.clone())),
        FactKind::DisputeCreated | FactKind::DisputeUpdated | FactKind::DisputeWon | FactKind::DisputeLost => {
            Some((Normalised::ChargebackCreated, fact.reference.clone()))
        }
        FactKind::PaymentSucceeded | FactKind::RefundPending | FactKind::RefundProcessed | FactKind::RefundedInAll => None,
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
