//! Leases: work that one instance at a time does, and that lasts longer than a transaction.
//!
//! A lease is a row with a holder and an end. Whoever works renews it three times in its term; when an instance has died, another one takes
//! the lease over at its end. An instance that could not renew it in time gives the work up before the next statement, so that what it has
//! not committed is rolled back. The one statement that it may have under way ends with its connection or commits: therefore the work
//! consists of steps that may be done twice, which the lease saves doing in vain.
//!
//! Work that every instance comes for at its own times is done once in a period ([`Lease::once_in`]).

mod queries;

use std::io;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::{Instant, sleep, timeout_at};
use uuid::Uuid;

use crate::kernel::crypto::random_bytes;
use crate::kernel::database::Pool;
use crate::kernel::error_chain::chain;

/// How long a lease lasts that is not renewed.
pub const TERM: Duration = Duration::from_secs(15);
/// How often it is asked for while another instance has it.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Work that this instance does and no other.
#[derive(Debug)]
pub struct Lease {
    pool: Pool,
    name: &'static str,
    holder: Uuid,
    term: Duration,
    taken_at: Instant,
    /// When the last renewal that succeeded was sent.
    renewed_at: Instant,
    /// It was given back, or lost.
    is_over: bool,
}

/// Another instance may have the lease by now.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the lease of {0} was not renewed in time, so another instance may do this work now")]
pub struct Lost(&'static str);

impl From<Lost> for sqlx::Error {
    fn from(lost: Lost) -> Self {
        Self::Io(io::Error::new(io::ErrorKind::TimedOut, lost))
    }
}

impl Lease {
    /// Takes a lease for `term`, if nobody has it.
    pub async fn take(pool: &Pool, name: &'static str, term: Duration) -> Result<Option<Self>, sqlx::Error> {
        let (holder, taken_at) = (Uuid::from_bytes(random_bytes()), Instant::now());
        let taken = queries::take(pool, name, holder, term).await?;
        Ok(taken.then(|| Self { pool: pool.clone(), name, holder, term, taken_at, renewed_at: taken_at, is_over: false }))
    }

    /// Waits for a lease, at most for so long.
    pub async fn wait_for(pool: &Pool, name: &'static str, at_most: Duration) -> Result<Option<Self>, sqlx::Error> {
        let until = Instant::now() + at_most;
        loop {
            let taken = Self::take(pool, name, TERM).await?;
            if taken.is_some() || Instant::now() >= until {
                return Ok(taken);
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Waits for a lease, however long another instance has it.
    pub async fn wait(pool: &Pool, name: &'static str) -> Result<Self, sqlx::Error> {
        loop {
            match Self::take(pool, name, TERM).await? {
                Some(lease) => return Ok(lease),
                None => sleep(POLL_INTERVAL).await,
            }
        }
    }

    /// Makes the table of leases, for migrations, of which one makes it.
    pub async fn make_table(pool: &Pool) -> Result<(), sqlx::Error> {
        match queries::make_table(pool).await {
            // Another instance makes it at the same moment.
            Err(sqlx::Error::Database(_)) => queries::make_table(pool).await,
            made => made,
        }
    }

    /// Does `work` and ends the lease. Gives the work up, with [`Lost`] as the error, as soon as the lease may be another instance's.
    pub async fn during<T, E>(mut self, work: impl Future<Output = Result<T, E>>) -> Result<T, E>
    where
        E: From<sqlx::Error>,
    {
        let done = self.hold(work).await;
        self.is_over = true;
        release(self.pool.clone(), self.name, self.holder).await;
        done
    }

    /// Does `work` like [`Self::during`], but nobody gets the lease until `period` has passed since it was taken, however the work ends.
    pub async fn once_in<T, E>(mut self, period: Duration, work: impl Future<Output = Result<T, E>>) -> Result<T, E>
    where
        E: From<sqlx::Error>,
    {
        let done = self.hold(work).await;
        self.is_over = true;
        let rest = period.saturating_sub(self.taken_at.elapsed());
        // Whoever has taken over a lease that was lost keeps it.
        if let Err(error) = queries::renew(&self.pool, self.name, self.holder, rest).await {
            tracing::debug!(error = chain(&error), "the lease of {} runs out by itself", self.name);
        }
        done
    }

    /// Does `work` while the lease is renewed.
    async fn hold<T, E>(&mut self, work: impl Future<Output = Result<T, E>>) -> Result<T, E>
    where
        E: From<sqlx::Error>,
    {
        tokio::select! {
            // After a standstill of the whole process, the loss is noticed before the work goes on.
            biased;
            lost = self.keep() => Err(sqlx::Error::from(lost).into()),
            done = work => done,
        }
    }

    /// Renews the lease until it is lost.
    async fn keep(&mut self) -> Lost {
        loop {
            // The rest of the term is for a statement that is under way.
            let lost_at = self.renewed_at + self.term * 2 / 3;
            let renewal = async {
                sleep(self.term / 3).await;
                let sent_at = Instant::now();
                match queries::renew(&self.pool, self.name, self.holder, self.term).await {
                    Ok(true) => Ok(Some(sent_at)),
                    Ok(false) => Err(Lost(self.name)),
                    Err(error) => {
                        tracing::warn!(error = chain(&error), "the lease of {} could not be renewed", self.name);
                        Ok(None)
                    }
                }
            };
            match timeout_at(lost_at, renewal).await {
                Ok(Ok(renewed_at)) => self.renewed_at = renewed_at.unwrap_or(self.renewed_at),
                Ok(Err(lost)) => return lost,
                Err(_) => return Lost(self.name),
            }
        }
    }
}

/// Work that was given up leaves its lease to others, unless the program ends before it is given back.
impl Drop for Lease {
    fn drop(&mut self) {
        if let (false, Ok(runtime)) = (self.is_over, Handle::try_current()) {
            runtime.spawn(release(self.pool.clone(), self.name, self.holder));
        }
    }
}

/// Gives a lease back, if `holder` has it.
async fn release(pool: Pool, name: &'static str, holder: Uuid) {
    if let Err(error) = queries::release(&pool, name, holder).await {
        tracing::debug!(error = chain(&error), "the lease of {name} runs out by itself");
    }
}
