//! Recording callbacks: those that arrive at the same moment share one statement; each is recorded once, with its consequences.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use axum::body::Bytes;
use chrono::{DateTime, Utc};
use sqlx::PgPool;

use crate::events::CommitNotifier;
use crate::gateways::accounts::CallbackGateway;
use crate::gateways::callbacks::Status;
use crate::gateways::callbacks::apply::VerifiedCallback;
use crate::gateways::callbacks::parsed::ParsedCallback;
use crate::gateways::callbacks::queries;
use crate::gateways::callbacks::receive::Acknowledgement;
use crate::gateways::callbacks::retry::{self, Failure};
use crate::gateways::driver::NotUnderstood;
use crate::gateways::ledger::{self, NewCallback};
use crate::gateways::payments::what_follows;
use crate::kernel::clock::Clock;
use crate::kernel::database::{column, dedicated_connections};
use crate::kernel::dedicated_connection::DedicatedConnection;
use crate::kernel::group_commit::GroupCommit;
use crate::kernel::ids::CallbackId;
use crate::kernel::lifecycle::Lifecycle;

/// Maximum number of callbacks per batch: enough to be cheap, few enough to limit the memory for the largest bodies.
const MAX_BATCH: usize = 32;

/// Records verified callbacks in batches and returns the response for each.
pub(in crate::gateways) type Recording = GroupCommit<Arc<Arrival>, Recorded>;

/// A duplicate is [`Acknowledgement::Repeated`], whatever its status.
type Recorded = Result<Acknowledgement, NotUnderstood>;

/// Creates the group commit for callbacks, with a dedicated connection for each of two groups at a time. Callbacks about the same
/// payment are recorded in the order in which they arrive.
pub(in crate::gateways) fn recording(pool: &PgPool, clock: &Clock, notifier: &CommitNotifier, lifecycle: &Lifecycle) -> Recording {
    let (connection, clock, notifier) = (dedicated_connections(pool, 2), clock.clone(), notifier.clone());
    GroupCommit::two_at_a_time(
        lifecycle.clone(),
        MAX_BATCH,
        |arrival| arrival.turn(),
        move |arrivals| {
            let (connection, notifier, now) = (connection.clone(), notifier.clone(), clock.now());
            async move {
                let recorded = record(&connection, &arrivals, now).await;
                notifier.committed();
                recorded
            }
        },
    )
}

/// A verified callback with its contents.
#[derive(Debug)]
pub(in crate::gateways) struct Arrival {
    id: CallbackId,
    pub(super) from: Arc<CallbackGateway>,
    body: Bytes,
    pub(super) parsed: ParsedCallback,
    at: DateTime<Utc>,
}

/// Records a batch of callbacks, all or none. A callback in a batch of one is recorded even if processing it failed because of an
/// internal error. If it cannot be recorded either, the gateway sends it again.
async fn record(connection: &DedicatedConnection, arrivals: &[Arc<Arrival>], now: DateTime<Utc>) -> Result<Vec<Recorded>, sqlx::Error> {
    let recorded = ledger::retry_on_conflict(|| record_and_apply(connection, arrivals, now)).await;
    match (recorded, arrivals) {
        (Err(error), [alone]) => {
            let failed = alone.row(Err(Failure::of(error)?));
            match ledger::write(&mut *connection.acquire().await?, &[failed], &[], now).await {
                // On a conflict, a concurrent writer has recorded the same callback.
                Err(error) if !ledger::is_conflict(&error) => Err(error),
                _ => Ok(vec![Ok(Acknowledgement::Received)]),
            }
        }
        (recorded, _) => recorded,
    }
}

async fn record_and_apply(
    connection: &DedicatedConnection,
    arrivals: &[Arc<Arrival>],
    now: DateTime<Utc>,
) -> Result<Vec<Recorded>, sqlx::Error> {
    let mut conn = connection.acquire().await?;
    let known = queries::look_up(&mut conn, &column(arrivals, |arrival| arrival.verified().lookup())).await?;
    // Of several identical callbacks in the batch, the first is new.
    let mut keys = HashSet::new();
    let arrived = arrivals.iter().zip(known);
    let new: Vec<_> = arrived.filter(|(arrival, known)| !known.is_here && keys.insert((arrival.from.id, &arrival.parsed.key))).collect();
    if !new.is_empty() {
        let reports: Vec<_> = new.iter().filter_map(|(arrival, known)| arrival.verified().report(known)).collect();
        let entries = what_follows(&mut conn, &reports, now).await?;
        ledger::write(&mut conn, &column(&new, |(arrival, _)| arrival.row(arrival.outcome())), &entries, now).await?;
    }
    conn.release();
    let new: HashSet<_> = new.into_iter().map(|(arrival, _)| arrival.id).collect();
    Ok(column(arrivals, |arrival| if new.contains(&arrival.id) { arrival.taken() } else { Ok(Acknowledgement::Repeated) }))
}

impl Arrival {
    /// Reads a verified callback.
    pub(super) fn read(from: Arc<CallbackGateway>, body: Bytes, now: DateTime<Utc>) -> Self {
        let parsed = ParsedCallback::read(&from, &body);
        Self { id: CallbackId::new(now), from, body, parsed, at: now }
    }

    /// The same number for all callbacks about one payment, and for a callback that is repeated.
    fn turn(&self) -> u64 {
        let update = self.parsed.update.as_ref().ok().and_then(Option::as_ref);
        let about = update.map_or(&self.parsed.key, |update| &update.transaction);
        let mut hasher = DefaultHasher::new();
        (self.from.id, about).hash(&mut hasher);
        hasher.finish()
    }

    /// Whether there are any facts, or why the callback cannot be processed.
    fn outcome(&self) -> Result<bool, Failure> {
        self.parsed.update.as_ref().map(Option::is_some).map_err(|not_understood| not_understood.clone().into())
    }

    /// The response if the callback is new.
    fn taken(&self) -> Recorded {
        self.parsed
            .update
            .as_ref()
            .map(|update| if update.is_some() { Acknowledgement::Received } else { Acknowledgement::Ignored })
            .map_err(Clone::clone)
    }

    fn verified(&self) -> VerifiedCallback<'_> {
        let update = self.parsed.update.as_ref().ok().and_then(Option::as_ref);
        VerifiedCallback { from: &self.from, callback: self.id, key: &self.parsed.key, update, at: self.at }
    }

    fn row(&self, outcome: Result<bool, Failure>) -> NewCallback<'_> {
        let (status, failure) = match outcome {
            Ok(true) => (Status::Processed, None),
            Ok(false) => (Status::Ignored, None),
            Err(failure) => (Status::Failed, Some(failure)),
        };
        NewCallback {
            id: self.id,
            at: self.at,
            company: self.from.company,
            gateway: Some(self.from.id),
            key: &self.parsed.key,
            kind: self.parsed.kind.as_deref(),
            status,
            reason: failure.as_ref().map(|failure| failure.reason),
            due_at: failure.as_ref().and_then(|_| retry::next_attempt(self.at, self.at)),
            detail: failure.map(|failure| failure.detail),
            body: &self.body,
            body_size: self.body.len(),
        }
    }
}
