//! Retrying genuine callbacks that could not be processed: on a schedule, when the gateway sends them again, and by hand.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, Utc};

use crate::callers::Caller;
use crate::gateways::accounts;
use crate::gateways::callbacks::record::CallbackRecord;
use crate::gateways::callbacks::refusal;
use crate::gateways::drivers::NotUnderstood;
use crate::gateways::genuine::GenuineCallback;
use crate::gateways::ledger::{self, Closed, Failure, Status, UnprocessedCallback};
use crate::gateways::open_gateways::OpenGateway;
use crate::gateways::recording::{Acknowledgement, Recorded};
use crate::gateways::state::Gateways;
use crate::kernel::database::Connection;
use crate::kernel::ids::CallbackId;
use crate::kernel::json::JsonOptions;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::openapi::OperationDoc;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::request_id::RequestId;
use crate::kernel::steps::{Steps, Unfinished};
use crate::kernel::traces;
use crate::resources::{EmptyBody, RecordTransaction, Resource, Shown, WriteRequest};

/// The interval at which the worker looks for due callbacks.
const POLL_INTERVAL: Duration = Duration::from_secs(30);

pub(super) fn doc() -> OperationDoc {
    OperationDoc::new("Process a genuine callback now.")
        .taking_options(EmptyBody::schema())
        .showing(StatusCode::OK, CallbackRecord::SINGULAR)
        .refusing(&[ProblemCode::CallbackRefused, ProblemCode::CallbackNotUnderstood])
}

/// `POST callbacks/{uuid}/process`: processes a callback now, whatever its schedule.
pub(super) async fn process(
    WriteRequest { state: gateways, caller, id }: WriteRequest<CallbackRecord>,
    JsonOptions(EmptyBody {}): JsonOptions<EmptyBody>,
) -> Result<Response, Problem> {
    Ok(gateways.process(&caller, id).await?.answer(StatusCode::OK))
}

impl Gateways {
    /// Handles a duplicate. If the callback has failed so far, it is processed again with the current settings of the gateway.
    pub(super) async fn repeat(&self, callback: &GenuineCallback) -> Result<Acknowledgement, Problem> {
        match ledger::retry_on_conflict(|| self.try_repeated(callback)).await {
            Ok(taken) => taken.map_err(Problem::from),
            Err(error) => {
                // The callback stays as it was and is retried on schedule.
                Failure::of(error)?;
                Ok(Acknowledgement::Received)
            }
        }
    }

    async fn try_repeated(&self, callback: &GenuineCallback) -> Result<Recorded, sqlx::Error> {
        let mut transaction = self.pool.begin().await?;
        let failed = ledger::lock_failed(&mut transaction, callback).await?;
        let Some(pending) = failed else { return Ok(Ok(Acknowledgement::Repeated)) };
        let outcome = reprocess(&mut transaction, &callback.gateway, &pending, callback.request, self.clock.now()).await?;
        transaction.commit().await?;
        self.notifier.committed();
        Ok(outcome.map(|()| Acknowledgement::Received))
    }

    /// Processes a callback now, on request.
    pub async fn process(&self, caller: &Caller, id: CallbackId) -> Result<Shown<CallbackRecord>, Problem> {
        self.process_by_hand(caller, id).await?;
        RecordTransaction::begin(self, caller).await?.show(id).await
    }

    async fn process_by_hand(&self, caller: &Caller, id: CallbackId) -> Result<(), Problem> {
        CallbackRecord::require(caller, CallbackRecord::writing())?;
        let mut transaction = RecordTransaction::begin(self, caller).await?;
        let callback = transaction.lock::<CallbackRecord>(id).await?;
        match callback.fields.status {
            Status::Refused => Err(ProblemCode::CallbackRefused.into()),
            Status::Processed => Ok(()),
            Status::Failed | Status::Ignored if callback.fields.body_erased_at.is_some() => {
                Err(Problem::new(ProblemCode::CallbackNotUnderstood).detail("The body of this callback is not kept any more."))
            }
            // Settings may have changed, so that an ignored callback contains something of use now.
            Status::Failed | Status::Ignored => {
                let pending = ledger::find_unprocessed(transaction.conn(), id).await?;
                drop(transaction);
                self.try_again(pending, caller.request).await
            }
        }
    }

    /// Starts to retry on schedule; it ends on shutdown.
    pub(in crate::gateways) fn start_retrying(&self, lifecycle: &Lifecycle) {
        let (this, until) = (self.clone(), lifecycle.clone());
        lifecycle.spawn(async move {
            until.every(POLL_INTERVAL, "callbacks could not be retried, or what has expired of them not removed", || this.run_due()).await;
        });
    }

    /// Retries all due callbacks once each, deletes expired refused callbacks, and erases expired bodies. Returns the number of retries. Tests use this
    /// instead of a running worker.
    pub async fn run_due(&self) -> Result<usize, Unfinished> {
        let (now, mut steps) = (self.clock.now(), Steps::on(&self.pool));
        steps.run("refused callbacks", async |conn| refusal::sweep(conn, now).await).await;
        if let Some(before) = now.checked_sub_signed(self.body_retention) {
            steps.run("bodies of callbacks", async |conn| ledger::erase_bodies(conn, before, now).await).await;
        }
        let tried = steps.run_apart("due callbacks", Box::pin(self.retry_due(now))).await;
        steps.finish()?;
        Ok(tried.unwrap_or_default())
    }

    async fn retry_due(&self, now: DateTime<Utc>) -> Result<usize, sqlx::Error> {
        let mut tried = 0;
        while let Some(pending) = ledger::claim_due(&mut self.pool.acquire().await?, now).await? {
            // Errors have been logged and, as far as possible, recorded.
            let _ = self.try_again(pending, None).await;
            tried += 1;
        }
        Ok(tried)
    }

    /// One attempt, in a transaction of its own.
    async fn try_again(&self, pending: UnprocessedCallback, request: Option<RequestId>) -> Result<(), Problem> {
        let now = self.clock.now();
        if let Err(error) = ledger::retry_on_conflict(|| self.try_in_transaction(&pending, request, now)).await {
            let failure = Failure::of(error)?;
            ledger::record_failure(&mut self.pool.acquire().await?, &pending, &failure, now).await?;
        }
        Ok(())
    }

    async fn try_in_transaction(
        &self,
        pending: &UnprocessedCallback,
        request: Option<RequestId>,
        now: DateTime<Utc>,
    ) -> Result<(), sqlx::Error> {
        let mut transaction = self.pool.begin().await?;
        if !ledger::lock_unprocessed(&mut transaction, pending.id).await? {
            return Ok(());
        }
        match accounts::find_any(&mut transaction, &self.key, pending.gateway).await {
            Ok(Some(found)) => _ = reprocess(&mut transaction, &Arc::new(found), pending, request, now).await?,
            // The reason why the secret cannot be decrypted has been logged.
            Ok(None) | Err(_) => ledger::record_failure(&mut transaction, pending, &Failure::unreadable(), now).await?,
        }
        transaction.commit().await?;
        self.notifier.committed();
        Ok(())
    }
}

/// Processes a recorded callback, whose row is locked, with the current settings of its gateway. If it still cannot be understood, the
/// reason is recorded and returned.
async fn reprocess(
    conn: &mut Connection,
    gateway: &Arc<OpenGateway>,
    pending: &UnprocessedCallback,
    request: Option<RequestId>,
    now: DateTime<Utc>,
) -> Result<Result<(), NotUnderstood>, sqlx::Error> {
    let read = GenuineCallback::read(pending.id, Arc::clone(gateway), pending.body.clone().into(), request, now);
    let callback = GenuineCallback { trace: traces::context(), ..read };
    let known = ledger::look_up(conn, &[&callback]).await?;
    let reports: Vec<_> = known.iter().filter_map(|known| known.report(&callback)).collect();
    let follows = ledger::what_follows(conn, &reports, now).await?;
    let refusal = follows.refusal(callback.id);
    let closed = match refusal.map_or_else(|| Closed::of(&callback, &known[0]), Err) {
        Ok(closed) => closed,
        Err(not_understood) => {
            ledger::record_failure(conn, pending, &not_understood.clone().into(), now).await?;
            return Ok(Err(not_understood));
        }
    };
    ledger::write(conn, &[], &follows.entries, now).await?;
    ledger::close(conn, pending.id, &closed, now).await?;
    Ok(Ok(()))
}
