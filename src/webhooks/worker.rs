//! The worker: fans out, claims, sends and records for as long as the program runs.
//!
//! Three kinds of tasks. The *rounds* fan out and claim, never more than there are permits; each claimed delivery is a task of its own,
//! so a slow endpoint holds up nobody; the *recorder* writes down what comes back, as many at once as have come back since it last
//! wrote, and only then gives the permits back. So a database that goes away stops the claiming by itself, and what was sent meanwhile
//! waits in memory to be written down.
//!
//! A round is woken by a notification of Postgres ([`events::PUBLISHED`]), by the recorder, or by the clock; the notifications only
//! hurry what polling would find.

use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::PgListener;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::sleep;

use crate::events;
use crate::kernel::database::is_unavailable;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::telemetry::chain;
use crate::webhooks::sending::Attempt;
use crate::webhooks::{Webhooks, fan_out};

/// Deliveries that one statement claims, and attempts that one statement records.
const BATCH: usize = 100;
/// Before something that failed is tried again.
const PAUSE: Duration = Duration::from_secs(1);
/// How often a batch is tried again that the database refuses to record; then its leases run out and it is sent again.
const RECORDING_TRIES: u32 = 3;

/// An attempt that has ended, with the permit it goes on holding until it is written down.
type Ended = (Attempt, OwnedSemaphorePermit);

impl Webhooks {
    /// Starts the worker. When the program is asked to stop it claims nothing more, finishes what is in flight, and ends.
    pub fn start_worker(&self, lifecycle: &Lifecycle) {
        let concurrency = usize::try_from(self.settings.concurrency.get()).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
        let (ended, results) = mpsc::channel(concurrency);
        let rounds = Rounds {
            webhooks: self.clone(),
            lifecycle: lifecycle.clone(),
            wake: Arc::new(Notify::new()),
            permits: Arc::new(Semaphore::new(concurrency)),
            ended,
        };
        lifecycle.spawn(listen(self.clone(), lifecycle.clone(), Arc::clone(&rounds.wake)));
        lifecycle.spawn(record(self.clone(), lifecycle.clone(), Arc::clone(&rounds.wake), results));
        lifecycle.spawn(rounds.run());
    }

    /// Does everything that is due now, once: what a test has instead of a running worker. Answers the attempts made.
    pub async fn run_due(&self) -> Result<usize, sqlx::Error> {
        while self.fan_out().await? > 0 {}
        self.reclaim().await?;
        let mut made = 0;
        loop {
            let claimed = self.claim(BATCH).await?;
            if claimed.is_empty() {
                return Ok(made);
            }
            let attempts = futures::future::join_all(claimed.into_iter().map(|claimed| self.send(claimed))).await;
            self.record(&attempts).await?;
            made += attempts.len();
        }
    }
}

struct Rounds {
    webhooks: Webhooks,
    lifecycle: Lifecycle,
    wake: Arc<Notify>,
    permits: Arc<Semaphore>,
    ended: mpsc::Sender<Ended>,
}

impl Rounds {
    async fn run(self) {
        while !self.lifecycle.stopping().is_cancelled() {
            let wait = match self.round().await {
                Ok(true) => continue,
                Ok(false) => self.webhooks.settings.poll_interval,
                Err(error) => {
                    tracing::warn!(error = chain(&error), "webhooks wait for the database");
                    PAUSE
                }
            };
            tokio::select! {
                () = self.lifecycle.stopping().cancelled() => {}
                () = self.wake.notified() => {}
                () = sleep(wait) => {}
            }
        }
    }

    /// Whether there may be more to do at once.
    async fn round(&self) -> Result<bool, sqlx::Error> {
        let fanned_out = self.webhooks.fan_out().await?;
        self.webhooks.reclaim().await?;
        let claimed = self.webhooks.claim(self.permits.available_permits().min(BATCH)).await?;
        let busy = fanned_out == u64::from(fan_out::BATCH) || !claimed.is_empty();
        for claimed in claimed {
            let permit = Arc::clone(&self.permits).try_acquire_owned().expect("only rounds take permits, and no more than are there");
            let (webhooks, ended) = (self.webhooks.clone(), self.ended.clone());
            self.lifecycle.spawn(async move {
                let attempt = webhooks.send(claimed).await;
                // A recorder that is gone has given up on the database; then the lease runs out.
                let _ = ended.send((attempt, permit)).await;
            });
        }
        Ok(busy)
    }
}

/// Writes down what has ended until nothing more can come.
async fn record(webhooks: Webhooks, lifecycle: Lifecycle, wake: Arc<Notify>, mut results: mpsc::Receiver<Ended>) {
    let mut ended = Vec::with_capacity(BATCH);
    while results.recv_many(&mut ended, BATCH).await > 0 {
        let (attempts, permits): (Vec<_>, Vec<_>) = ended.drain(..).unzip();
        let mut refused = 0;
        while let Err(error) = webhooks.record(&attempts).await {
            tracing::warn!(error = chain(&error), "attempts could not be recorded");
            refused += u32::from(!is_unavailable(&error));
            if refused == RECORDING_TRIES || lifecycle.stopping().is_cancelled() {
                tracing::error!(attempts = attempts.len(), "attempts stay unrecorded and will be made again");
                break;
            }
            sleep(PAUSE).await;
        }
        drop(permits);
        wake.notify_one();
    }
}

/// Turns notifications of Postgres into wake-ups, on a connection that it keeps out of the pool.
async fn listen(webhooks: Webhooks, lifecycle: Lifecycle, wake: Arc<Notify>) {
    let heard = async {
        loop {
            if let Err(error) = hear(&webhooks, &wake).await {
                tracing::debug!(error = chain(&error), "not listening for events");
            }
            sleep(PAUSE).await;
        }
    };
    tokio::select! {
        () = lifecycle.stopping().cancelled() => {}
        () = heard => {}
    }
}

async fn hear(webhooks: &Webhooks, wake: &Notify) -> Result<(), sqlx::Error> {
    let mut listener = PgListener::connect_with(&webhooks.pool).await?;
    listener.listen(events::PUBLISHED).await?;
    loop {
        // What was published while nobody listened, before the first notification and between two connections.
        wake.notify_one();
        listener.try_recv().await?;
    }
}
