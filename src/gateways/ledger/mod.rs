//! The ledger: the tables `callbacks`, `payments` and `payment_facts`, and every statement on them.
//!
//! The ledger uses optimistic concurrency. A writer reads which callbacks and payments are known ([`look_up`]) and their facts
//! ([`what_follows`]), works out what follows without holding locks, and writes as if nothing had changed since ([`write()`]). If a
//! concurrent writer has recorded the same callback, the same payment or another fact about it meanwhile, a unique constraint is
//! violated. Then nothing is written, and the writer reads again ([`retry_on_conflict`]). All rows are written in a fixed order, so no
//! deadlock occurs.

mod backlog;
mod closed;
mod follow;
mod history;
mod look_up;
mod retention;
mod unprocessed;
mod write;

use crate::kernel::database::{repeated, violated_constraint};

pub use backlog::CallbackBacklog;
pub use closed::Closed;
pub use follow::what_follows;
pub use history::{HistoryEntry, find_body, list_history, list_payments};
pub use look_up::look_up;
pub use retention::{erase_bodies, erase_bodies_of, list_of_customer};
pub use unprocessed::{
    Failure, UnprocessedCallback, claim_due, close, find_unprocessed, forget_refused, lock_failed, lock_unprocessed, record_failure,
};
pub use write::{NewCallback, write};

/// Maximum number of attempts. Every conflict means that another writer has finished, so the number of competing writers shrinks.
const MAX_ATTEMPTS: usize = 20;

crate::text_enum! {
    /// The status of a callback.
    pub enum Status {
        /// The callback was not accepted.
        Refused = "refused",
        /// The callback is genuine and contains nothing of use.
        Ignored = "ignored",
        /// The callback is genuine and could not be processed yet.
        Failed = "failed",
        /// The callback is genuine and has been processed.
        Processed = "processed",
    }
}

/// Repeats reading and writing until no conflict with a concurrent writer occurs, at most [`MAX_ATTEMPTS`] times.
pub async fn retry_on_conflict<T, F>(attempt: impl Fn() -> F) -> Result<T, sqlx::Error>
where
    F: Future<Output = Result<T, sqlx::Error>>,
{
    for _ in 1..MAX_ATTEMPTS {
        match repeated(&attempt).await {
            Err(error) if is_conflict(&error) => {}
            ended => return ended,
        }
    }
    repeated(&attempt).await
}

/// Whether a concurrent writer has already written what was to be written.
pub fn is_conflict(error: &sqlx::Error) -> bool {
    matches!(violated_constraint(error), Some("callbacks_once" | "payments_transaction_key" | "payment_facts_sequence_key"))
}
