//! Retrying genuine callbacks that could not be processed: on a schedule, when the gateway sends them again, and by hand.

use std::time::Duration;

use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, TimeDelta, Utc};

use crate::companies::CallingCompany;
use crate::gateways::Gateways;
use crate::gateways::accounts::{self, Found};
use crate::gateways::callbacks::queries::Open;
use crate::gateways::callbacks::receive::Taken;
use crate::gateways::callbacks::{CallbackRecord, Status, process as processing, queries, refusal};
use crate::gateways::driver::NotUnderstood;
use crate::gateways::ledger;
use crate::kernel::database::is_unavailable;
use crate::kernel::ids::CallbackId;
use crate::kernel::json::Json;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::telemetry::chain;
use crate::resources::{Edit, NoMembers, Writing};

/// The interval at which the worker looks for due callbacks.
const EVERY: Duration = Duration::from_secs(30);
/// When a failed callback is retried, counted from its arrival. Most internal faults are gone within a minute; most wrong settings
/// are corrected within a day.
const AFTER: [TimeDelta; 5] =
    [TimeDelta::minutes(1), TimeDelta::minutes(6), TimeDelta::minutes(36), TimeDelta::minutes(156), TimeDelta::minutes(636)];

/// The next scheduled retry of a callback that arrived at `came_at`; `None` after the last one. Retries by the gateway or by hand
/// do not change the schedule.
pub(super) fn next_attempt(came_at: DateTime<Utc>, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    AFTER.iter().map(|after| came_at + *after).find(|at| *at > now)
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
        let detail = "Its gateway's driver, settings or signing secret cannot be used.".to_owned();
        Self { reason: ProblemCode::GatewayNotConfigured.as_str(), detail }
    }

    /// A database error. If the database is unavailable, the error is returned: nothing can be recorded, and the gateway has to
    /// retry.
    pub(super) fn of(error: sqlx::Error) -> Result<Self, sqlx::Error> {
        if is_unavailable(&error) {
            return Err(error);
        }
        tracing::error!(error = chain(&error), "a callback could not be processed");
        Ok(Self { reason: ProblemCode::Internal.as_str(), detail: "Something went wrong on our side; it is tried again.".to_owned() })
    }
}

/// `POST callbacks/{uuid}/process`: processes a callback now, whatever its schedule.
pub(super) async fn process(
    Writing { room: gateways, caller, id }: Writing<CallbackRecord>,
    Json(NoMembers {}): Json<NoMembers>,
) -> Result<Response, Problem> {
    gateways.process_by_hand(&caller, id).await?;
    let mut edit = Edit::by(&gateways, &caller).await?;
    Ok(edit.show::<CallbackRecord>(id).await?.answer(StatusCode::OK))
}

impl Gateways {
    /// Handles a duplicate. If the callback has failed so far, it is processed again with the current settings of the gateway.
    pub(super) async fn repeat(&self, from: &Found, key: &str) -> Result<Taken, Problem> {
        match ledger::unless_crossed(|| self.try_repeated(from, key)).await {
            Ok(taken) => taken.map_err(Problem::from),
            Err(error) => {
                // The callback stays as it was and is retried on schedule.
                Failure::of(error)?;
                Ok(Taken::Received)
            }
        }
    }

    async fn try_repeated(&self, from: &Found, key: &str) -> Result<Result<Taken, NotUnderstood>, sqlx::Error> {
        let mut transaction = self.pool.begin().await?;
        let Some(open) = queries::lock_failed(&mut transaction, from.id, key).await? else { return Ok(Ok(Taken::Repeated)) };
        let told = processing::again(&mut transaction, from, &open, self.clock.now()).await?;
        transaction.commit().await?;
        self.news.committed();
        Ok(told.map(|_| Taken::Received))
    }

    async fn process_by_hand(&self, caller: &CallingCompany, id: CallbackId) -> Result<(), Problem> {
        let mut edit = Edit::by(self, caller).await?;
        let callback = edit.lock::<CallbackRecord>(id).await?;
        match callback.fields.status {
            Status::Refused => Err(ProblemCode::CallbackRefused.into()),
            Status::Processed => Ok(()),
            // Settings may have changed, so that an ignored callback contains something of use now.
            Status::Failed | Status::Ignored => {
                let open = queries::find_open(edit.conn(), id).await?;
                drop(edit);
                self.try_again(open).await
            }
        }
    }

    /// Starts the worker; it ends on shutdown.
    pub fn start_worker(&self, lifecycle: &Lifecycle) {
        let (this, until) = (self.clone(), lifecycle.clone());
        lifecycle.spawn(async move {
            let round = || async {
                if let Err(error) = this.run_due().await {
                    tracing::warn!(error = chain(&error), "callbacks wait for the database");
                }
            };
            until.every(EVERY, round).await;
        });
    }

    /// Retries all due callbacks once each, and deletes expired refused callbacks. Returns the number of retries. Tests use this
    /// instead of a running worker.
    pub async fn run_due(&self) -> Result<usize, sqlx::Error> {
        let now = self.clock.now();
        self.throttle.sweep();
        refusal::sweep(&mut *self.pool.acquire().await?, now).await?;
        let mut tried = 0;
        // Each claim moves the due time on, so that a callback that crashes the program is not the first one again.
        while let Some(open) = queries::claim_due(&mut *self.pool.acquire().await?, now, now + AFTER[0]).await? {
            // Errors have been logged and, as far as possible, recorded.
            let _ = self.try_again(open).await;
            tried += 1;
        }
        Ok(tried)
    }

    /// One attempt, in a transaction of its own.
    async fn try_again(&self, open: Open) -> Result<(), Problem> {
        let now = self.clock.now();
        if let Err(error) = ledger::unless_crossed(|| self.try_in_transaction(&open, now)).await {
            let failure = Failure::of(error)?;
            queries::record_failure(&mut *self.pool.acquire().await?, &open, &failure, now).await?;
        }
        Ok(())
    }

    async fn try_in_transaction(&self, open: &Open, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
        let mut transaction = self.pool.begin().await?;
        if !queries::lock_unprocessed(&mut transaction, open.id).await? {
            return Ok(());
        }
        match accounts::find_any(&mut transaction, &self.key, open.gateway).await {
            Ok(Some(found)) => _ = processing::again(&mut transaction, &found, open, now).await?,
            // The reason why the secret cannot be decrypted has been logged.
            Ok(None) | Err(_) => queries::record_failure(&mut transaction, open, &Failure::unreadable(), now).await?,
        }
        transaction.commit().await?;
        self.news.committed();
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
