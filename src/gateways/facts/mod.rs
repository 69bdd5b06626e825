//! Facts: what callbacks report about a payment, and what follows from them. Everything here is a pure function.
//!
//! A driver turns a callback into [`Fact`]s. An [`Entry`] adds them to the [`KnownFacts`] of their payment, which tell the events that
//! become due. [`State`] is the resulting state of the payment.

mod entry;
mod fact;
mod state;

pub use entry::{Entry, NewFact, Report};
pub use fact::{Fact, FactKind, Normalised};
pub use state::{Dispute, DueEvent, Kind, KnownFacts, State, Status};
