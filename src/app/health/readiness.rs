//! Whether this instance should get requests, checked once a second and answered from memory.
//!
//! Those who ask cause no statements, however many they are, and never wait for a database that does not answer. The checks begin with the
//! first request, so an instance that nobody asks makes none. They have a connection of their own: an instance whose connections are all
//! in use is busy, which requests are told one by one, and not unready, after which a proxy would send its requests to the next one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::app::health::queries;
use crate::kernel::database::{Limits, Pool, is_disk_full, server_version};
use crate::kernel::error_chain::chain;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::migrations::{self, MigrationError};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::webhooks::Webhooks;

/// The pause between two checks.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// A check that takes longer has failed.
const CHECK_LIMIT: Duration = Duration::from_secs(3);
/// How long the worker may complete no round. One round is a handful of statements, each of which ends in time or fails, and a round
/// that fails is repeated after a second.
const MAX_STANDSTILL: Duration = Duration::from_secs(15);

/// The verdict of the last check, shared by all who ask.
#[derive(Clone, Debug)]
pub struct Readiness(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    pool: Pool,
    /// The way that requests take to the database, if it is another one.
    pooled: Option<Pool>,
    webhooks: Webhooks,
    lifecycle: Lifecycle,
    begun: AtomicBool,
    /// `None` until the first check has ended.
    verdict: watch::Sender<Option<Result<(), Unready>>>,
}

/// The reason why this instance should get no requests.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
enum Unready {
    #[error("This instance is about to stop.")]
    Leaving,
    #[error("The database cannot be reached.")]
    Unreachable,
    #[error("The pooler in front of the database cannot be used.")]
    NoPooler,
    #[error("The database does not answer.")]
    Silent,
    #[error("This instance cannot use its database: {0}.")]
    Unsuitable(String),
    #[error("The disk of the database is full: nothing can be written until there is room.")]
    DiskFull,
    #[error("The worker of this instance has passed on nothing for {} seconds.", .0.as_secs())]
    Standstill(Duration),
}

impl From<Unready> for Problem {
    fn from(reason: Unready) -> Self {
        let code = match reason {
            Unready::Leaving | Unready::Standstill(_) => ProblemCode::NotReady,
            Unready::Unreachable | Unready::NoPooler | Unready::Silent | Unready::Unsuitable(_) | Unready::DiskFull => {
                ProblemCode::DatabaseUnavailable
            }
        };
        Self::new(code).detail(reason.to_string()).retry_after(5)
    }
}

impl Readiness {
    /// The readiness of an instance on the database of `pool`, until `lifecycle` ends.
    pub fn new(pool: &Pool, webhooks: Webhooks, lifecycle: Lifecycle) -> Self {
        // The least memory that a sort can have, so that it writes to the disk.
        let servers = pool.servers().with([("work_mem", "64kB")]);
        let limits = Limits { connections: 1, acquire_timeout: CHECK_LIMIT, statement_timeout: CHECK_LIMIT };
        let pooled = pool.is_pooled().then(|| pool.likewise("readiness by the pooler", limits));
        let pool = pool.beside("readiness", servers, limits);
        Self(Arc::new(Inner { pool, pooled, webhooks, lifecycle, begun: AtomicBool::new(false), verdict: watch::Sender::default() }))
    }

    /// `Ok` if this instance should get requests.
    ///
    /// # Errors
    /// `not_ready` if it is about to stop or its worker stands still, `database_unavailable` if its database cannot be used.
    pub async fn judge(&self) -> Result<(), Problem> {
        let inner = &self.0;
        if inner.lifecycle.is_leaving() {
            return Err(Unready::Leaving.into());
        }
        if let Some(time) = inner.webhooks.standstill().filter(|time| *time > MAX_STANDSTILL) {
            return Err(Unready::Standstill(time).into());
        }
        self.last_verdict().await.map_err(Problem::from)
    }

    async fn last_verdict(&self) -> Result<(), Unready> {
        let mut verdicts = self.0.verdict.subscribe();
        if !self.0.begun.swap(true, Ordering::Relaxed) {
            let this = self.clone();
            self.0.lifecycle.spawn(async move { this.watch().await });
        }
        match verdicts.wait_for(Option::is_some).await {
            Ok(verdict) => verdict.clone().unwrap_or(Ok(())),
            // Unreachable: the sender lives as long as this.
            Err(_) => Err(Unready::Leaving),
        }
    }

    async fn watch(&self) {
        let stopping = self.0.lifecycle.stopping();
        loop {
            let Some(verdict) = stopping.run_until_cancelled(self.check()).await else { break };
            self.note(verdict);
            if stopping.run_until_cancelled(sleep(CHECK_INTERVAL)).await.is_none() {
                break;
            }
        }
        // For those who asked before the first check had ended.
        self.0.verdict.send_if_modified(|verdict| verdict.replace(Err(Unready::Leaving)).is_none());
        for pool in [Some(&self.0.pool), self.0.pooled.as_ref()].into_iter().flatten() {
            pool.close().await;
        }
    }

    async fn check(&self) -> Result<(), Unready> {
        check(&self.0.pool).await?;
        match &self.0.pooled {
            Some(pooled) => check_pooler(pooled).await,
            None => Ok(()),
        }
    }

    /// Only a change is logged, not every check of an outage.
    fn note(&self, verdict: Result<(), Unready>) {
        let before = self.0.verdict.send_replace(Some(verdict.clone()));
        match (before, verdict) {
            (before, Err(reason)) if before.as_ref() != Some(&Err(reason.clone())) => tracing::warn!(%reason, "this instance is not ready"),
            (Some(Err(_)), Ok(())) => tracing::info!("this instance is ready again"),
            _ => {}
        }
    }
}

/// Whether the database responds, has all migrations of this binary, and can write.
async fn check(pool: &Pool) -> Result<(), Unready> {
    let checks = async {
        migrations::must_be_applied(pool).await?;
        queries::write_something(&mut pool.acquire().await?).await.map_err(MigrationError::Database)
    };
    match timeout(CHECK_LIMIT, checks).await {
        Err(_) => Err(Unready::Silent),
        Ok(Ok(())) => Ok(()),
        Ok(Err(MigrationError::Database(error))) if is_disk_full(&error) => Err(Unready::DiskFull),
        Ok(Err(MigrationError::Database(error))) => {
            tracing::debug!(error = chain(&error), "the database could not be checked");
            Err(Unready::Unreachable)
        }
        Ok(Err(error)) => Err(Unready::Unsuitable(error.to_string())),
    }
}

/// Whether the pooler leads to a server that accepts writes. One whose sessions are all in use is busy, and answers later.
async fn check_pooler(pool: &Pool) -> Result<(), Unready> {
    match timeout(CHECK_LIMIT, server_version(pool)).await {
        Ok(Ok(_)) | Err(_) | Ok(Err(sqlx::Error::PoolTimedOut)) => Ok(()),
        Ok(Err(error)) => {
            tracing::debug!(error = chain(&error), "the pooler could not be checked");
            Err(Unready::NoPooler)
        }
    }
}
