//! Recording genuine callbacks: those that arrive at the same moment share one statement; each is recorded once, with its consequences.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::events::CommitNotifier;
use crate::gateways::drivers::NotUnderstood;
use crate::gateways::genuine::GenuineCallback;
use crate::gateways::ledger::{self, Failure, NewCallback};
use crate::kernel::clock::Clock;
use crate::kernel::database::{Pool, column, group_pool};
use crate::kernel::group_commit::GroupCommit;
use crate::kernel::lifecycle::Lifecycle;

/// Maximum number of callbacks per batch: enough to be cheap, few enough to limit the memory for the largest bodies.
const MAX_BATCH: usize = 32;

/// Records callbacks in batches and returns the response for each.
pub type Recording = GroupCommit<Arc<GenuineCallback>, Recorded>;

/// A duplicate is [`Acknowledgement::Repeated`], whatever its status.
pub type Recorded = Result<Acknowledgement, NotUnderstood>;

/// The response to a callback that was accepted (decisions, section 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acknowledgement {
    /// The callback is new.
    Received,
    /// The callback was received before.
    Repeated,
    /// The callback is genuine, but contains nothing of use.
    Ignored,
}

impl Acknowledgement {
    pub const ALL: [Self; 3] = [Self::Received, Self::Repeated, Self::Ignored];

    /// The message of the response.
    pub fn message(self) -> &'static str {
        match self {
            Self::Received => "Webhook received.",
            Self::Repeated => "Already processed.",
            Self::Ignored => "Ignored.",
        }
    }

    /// The word for it in the metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Received => "received",
            Self::Repeated => "repeated",
            Self::Ignored => "ignored",
        }
    }

    /// The response to a callback that is new.
    fn of_new(callback: &GenuineCallback) -> Recorded {
        match &callback.update {
            Ok(Some(_)) => Ok(Self::Received),
            Ok(None) => Ok(Self::Ignored),
            Err(not_understood) => Err(not_understood.clone()),
        }
    }
}

/// Creates the group commit for callbacks, with a connection for each of two groups at a time. Callbacks about the same
/// payment are recorded in the order in which they arrived.
pub fn recording(pool: &Pool, clock: &Clock, notifier: &CommitNotifier, lifecycle: &Lifecycle) -> Recording {
    let (pool, clock, notifier) = (group_pool(pool, "callbacks", 2), clock.clone(), notifier.clone());
    GroupCommit::two_at_a_time(
        lifecycle.clone(),
        MAX_BATCH,
        |callback| callback.turn(),
        move |callbacks| {
            let (pool, notifier, now) = (pool.clone(), notifier.clone(), clock.now());
            async move {
                let recorded = record(&pool, &callbacks, now).await;
                notifier.committed();
                recorded
            }
        },
    )
}

/// Records a batch of callbacks, all or none. A callback in a batch of one is recorded even if processing it failed because of an
/// internal error. If it cannot be recorded either, the gateway sends it again.
async fn record(pool: &Pool, callbacks: &[Arc<GenuineCallback>], now: DateTime<Utc>) -> Result<Vec<Recorded>, sqlx::Error> {
    let recorded = ledger::retry_on_conflict(|| record_and_apply(pool, callbacks, now)).await;
    match (recorded, callbacks) {
        (Err(error), [alone]) => {
            let failed = NewCallback::failed(alone, Failure::of(error)?);
            match ledger::write(&mut pool.acquire().await?, &[failed], &[], now).await {
                // On a conflict, a concurrent writer has recorded the same callback.
                Err(error) if !ledger::is_conflict(&error) => Err(error),
                _ => Ok(vec![Ok(Acknowledgement::Received)]),
            }
        }
        (recorded, _) => recorded,
    }
}

async fn record_and_apply(pool: &Pool, callbacks: &[Arc<GenuineCallback>], now: DateTime<Utc>) -> Result<Vec<Recorded>, sqlx::Error> {
    let mut conn = pool.acquire().await?;
    let known = ledger::look_up(&mut conn, &column(callbacks, Arc::as_ref)).await?;
    // Of several identical callbacks in the batch, the first is new.
    let mut keys = HashSet::new();
    let arrived = callbacks.iter().zip(known);
    let new: Vec<_> = arrived.filter(|(callback, known)| !known.is_recorded && keys.insert(callback.once_by())).collect();
    let mut recorded = HashMap::new();
    if !new.is_empty() {
        let reports: Vec<_> = new.iter().filter_map(|(callback, known)| known.report(callback)).collect();
        let follows = ledger::what_follows(&mut conn, &reports, now).await?;
        let outcomes = column(&new, |(callback, known)| match follows.refusal(callback.id) {
            Some(too_many) => (NewCallback::failed(callback, too_many.clone().into()), (callback.id, Err(too_many))),
            None => (NewCallback::read(callback, known), (callback.id, Acknowledgement::of_new(callback))),
        });
        let (rows, acknowledged): (Vec<_>, Vec<_>) = outcomes.into_iter().unzip();
        ledger::write(&mut conn, &rows, &follows.entries, now).await?;
        recorded.extend(acknowledged);
    }
    let taken = |callback: &Arc<GenuineCallback>| recorded.remove(&callback.id).unwrap_or(Ok(Acknowledgement::Repeated));
    Ok(callbacks.iter().map(taken).collect())
}
