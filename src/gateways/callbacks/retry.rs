//! Retrying genuine callbacks that could not be processed: on a schedule, when the gateway sends them again, and by hand.

use std::time::Duration;

use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, TimeDelta, Utc};

use crate::callers::Caller;
use crate::gateways::Gateways;
use crate::gateways::accounts::{self, CallbackGateway};
use crate::gateways::callbacks::queries::PendingCallback;
use crate::gateways::callbacks::receive::Acknowledgement;
use crate::gateways::callbacks::{CallbackRecord, Status, apply, queries, refusal};
use crate::gateways::driver::NotUnderstood;
use crate::gateways::ledger;
use crate::kernel::database::is_unavailable;
use crate::kernel::error_chain::chain;
use crate::kernel::ids::CallbackId;
use crate::kernel::json::JsonBody;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::openapi::OperationDoc;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::resources::{EmptyBody, RecordTransaction, Resource, Shown, WriteRequest};

/// The interval at which the worker looks for due callbacks.
const POLL_INTERVAL: Duration = Duration::from_secs(30);
/// When a failed callback is retried, counted from its arrival. Most internal faults are gone within a minute; most wrong settings
/// are corrected within a day.
const RETRY_SCHEDULE: [TimeDelta; 5] =
    [TimeDelta::minutes(1), TimeDelta::minutes(6), TimeDelta::minutes(36), TimeDelta::minutes(156), TimeDelta::minutes(636)];

/// The next scheduled retry of a callback that arrived at `came_at`; `None` after the last one. Retries by the gateway or by hand
/// do not change the schedule.
pub(super) fn next_attempt(came_at: DateTime<Utc>, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    RETRY_SCHEDULE.iter().map(|after| came_at + *after).find(|at| *at > now)
}

/// Why a genuine callback could not be processed.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) reason: &'static str,
    pub(super) detail: String,
}

impl From<NotUnderstood> for Failure {
    fn from(not_understood: NotUnderstood) -> Self {
        Self { reason: ProblemCode::CallbackNotUnderstood.as_str(), detail: not_understood.to_string() }
    }
}

impl Failure {
    /// The gateway has no usable driver, secret or settings any more.
    fn unreadable() -> Self {
        let detail = "The driver, settings or signing secret of the gateway cannot be used.".to_owned();
        Self { reason: ProblemCode::GatewayNotConfigured.as_str(), detail }
    }

    /// A database error. If the database is unavailable, the error is returned: nothing can be recorded, and the gateway has to
    /// retry.
    pub(super) fn of(error: sqlx::Error) -> Result<Self, sqlx::Error> {
        if is_unavailable(&error) {
            return Err(error);
        }
        tracing::error!(error = chain(&error), "a callback could not be processed");
        Ok(Self { reason: ProblemCode::Internal.as_str(), detail: "Something went wrong on our side. Processing is retried.".to_owned() })
    }
}

/// The description of the route that processes a callback.
pub(super) fn doc() -> OperationDoc {
    OperationDoc::new("Process a genuine callback now.")
        .taking_body(EmptyBody::schema())
        .showing(StatusCode::OK, CallbackRecord::SINGULAR)
        .refusing(&[ProblemCode::CallbackRefused])
}

/// `POST callbacks/{uuid}/process`: processes a callback now, whatever its schedule.
pub(super) async fn process(
    WriteRequest { state: gateways, caller, id }: WriteRequest<CallbackRecord>,
    JsonBody(EmptyBody {}): JsonBody<EmptyBody>,
) -> Result<Response, Problem> {
    Ok(gateways.process(&caller, id).await?.answer(StatusCode::OK))
}

impl Gateways {
    /// Handles a duplicate. If the callback has failed so far, it is processed again with the current settings of the gateway.
    pub(super) async fn repeat(&self, from: &CallbackGateway, key: &str) -> Result<Acknowledgement, Problem> {
        match ledger::retry_on_conflict(|| self.try_repeated(from, key)).await {
            Ok(taken) => taken.map_err(Problem::from),
            Err(error) => {
                // The callback stays as it was and is retried on schedule.
                Failure::of(error)?;
                Ok(Acknowledgement::Received)
            }
        }
    }

    async fn try_repeated(&self, from: &CallbackGateway, key: &str) -> Result<Result<Acknowledgement, NotUnderstood>, sqlx::Error> {
        let mut transaction = self.pool.begin().await?;
        let Some(pending) = queries::lock_failed(&mut transaction, from, key).await? else { return Ok(Ok(Acknowledgement::Repeated)) };
        let outcome = apply::reprocess(&mut transaction, from, &pending, self.clock.now()).await?;
        transaction.commit().await?;
        self.notifier.committed();
        Ok(outcome.map(|_| Acknowledgement::Received))
    }

    /// Processes a callback now, on request.
    pub async fn process(&self, caller: &Caller, id: CallbackId) -> Result<Shown<CallbackRecord>, Problem> {
        self.process_by_hand(caller, id).await?;
        RecordTransaction::begin(self, caller).await?.show(id).await
    }

    async fn process_by_hand(&self, caller: &Caller, id: CallbackId) -> Result<(), Problem> {
        caller.require_scope(CallbackRecord::WRITING)?;
        let mut transaction = RecordTransaction::begin(self, caller).await?;
        let callback = transaction.lock::<CallbackRecord>(id).await?;
        match callback.fields.status {
            Status::Refused => Err(ProblemCode::CallbackRefused.into()),
            Status::Processed => Ok(()),
            // Settings may have changed, so that an ignored callback contains something of use now.
            Status::Failed | Status::Ignored => {
                let pending = queries::find_pending(transaction.conn(), id).await?;
                drop(transaction);
                self.try_again(pending).await
            }
        }
    }

    /// Starts the worker; it ends on shutdown.
    pub fn start_worker(&self, lifecycle: &Lifecycle) {
        let (this, until) = (self.clone(), lifecycle.clone());
        lifecycle.spawn(async move {
            until.every(POLL_INTERVAL, "callbacks are waiting for the database", || this.run_due()).await;
        });
    }

    /// Retries all due callbacks once each, and deletes expired refused callbacks. Returns the number of retries. Tests use this
    /// instead of a running worker.
    pub async fn run_due(&self) -> Result<usize, sqlx::Error> {
        let now = self.clock.now();
        refusal::sweep(&mut *self.pool.acquire().await?, now).await?;
        let mut tried = 0;
        // Each claim moves the due time on, so that a callback that crashes the program is not the first one again.
        while let Some(pending) = queries::claim_due(&mut *self.pool.acquire().await?, now, now + RETRY_SCHEDULE[0]).await? {
            // Errors have been logged and, as far as possible, recorded.
            let _ = self.try_again(pending).await;
            tried += 1;
        }
        Ok(tried)
    }

    /// One attempt, in a transaction of its own.
    async fn try_again(&self, pending: PendingCallback) -> Result<(), Problem> {
        let now = self.clock.now();
        if let Err(error) = ledger::retry_on_conflict(|| self.try_in_transaction(&pending, now)).await {
            let failure = Failure::of(error)?;
            queries::record_failure(&mut *self.pool.acquire().await?, &pending, &failure, now).await?;
        }
        Ok(())
    }

    async fn try_in_transaction(&self, pending: &PendingCallback, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
        let mut transaction = self.pool.begin().await?;
        if !queries::lock_unprocessed(&mut transaction, pending.id).await? {
            return Ok(());
        }
        match accounts::find_any(&mut transaction, &self.key, pending.gateway).await {
            Ok(Some(found)) => _ = apply::reprocess(&mut transaction, &found, pending, now).await?,
            // The reason why the secret cannot be decrypted has been logged.
            Ok(None) | Err(_) => queries::record_failure(&mut transaction, pending, &Failure::unreadable(), now).await?,
        }
        transaction.commit().await?;
        self.notifier.committed();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_callback_is_tried_six_times_over_half_a_day() {
        let came_at = DateTime::UNIX_EPOCH;
        let times = std::iter::successors(Some(came_at), |now| next_attempt(came_at, *now));
        let minutes: Vec<_> = times.map(|at| (at - came_at).num_minutes()).collect();
        assert_eq!(minutes, [0, 1, 6, 36, 156, 636]);
        assert_eq!(next_attempt(came_at, came_at + TimeDelta::minutes(4)), Some(came_at + TimeDelta::minutes(6)));
    }
}
