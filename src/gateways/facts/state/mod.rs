//! The state that follows from the facts about a payment, and the events that are due. Both are pure functions of the *set* of
//! facts, so the order and the repetition of callbacks do not matter. The set of due events only grows, so a published event never
//! has to be taken back. What was paid is published as the growth of one sum ([`Captures::sum`]), because many gateways report only what all captures
//! come to. Refunds are published as the growth of another one ([`Refunds::reported`]), and not before the payment is known to have
//! succeeded if it is known to be held or to have failed: what is only held is released, and some gateways call that a refund.
//!
//! [`KnownFacts`] takes the facts one by one and remembers what follows from them, not the facts: one more takes the same time however
//! many there are.

mod captures;
mod known_facts;
mod refunds;

use crate::gateways::facts::{Fact, Normalised};
use crate::gateways::money::Currency;
use crate::kernel::ids::{CustomerId, OrderId};

use captures::Captures;
pub use known_facts::KnownFacts;
use refunds::Refunds;

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

/// An event that became due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueEvent {
    /// The fact that the event tells of.
    pub fact: Fact,
    /// The event.
    pub normalised: Normalised,
    /// The amount of the refund, dispute or payment, as far as the facts say so.
    pub amount: Option<i64>,
}

impl DueEvent {
    fn of(fact: &Fact, normalised: Normalised, amount: Option<i64>) -> Self {
        Self { fact: fact.clone(), normalised, amount }
    }
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

#[cfg(test)]
mod every_order;
#[cfg(test)]
mod tests;
