//! The worker: fans out, claims, sends and records for as long as the program runs.
//!
//! Three kinds of tasks. The *rounds* fan out and claim, never more than the permits they hold already; each claimed delivery is a task
//! of its own, so a slow endpoint holds up nobody; the *recorder* writes down what comes back, as many at once as have come back since
//! it last wrote or are about to, and only then gives the permits back. So a database that goes away stops the claiming by itself, and
//! what was sent meanwhile waits in memory to be written down.
//!
//! A round is woken by what is published here ([`events::News`]), by a notification of Postgres ([`events::PUBLISHED`]), by the recorder, or
//! by the clock; the notifications only hurry what polling would find.

use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::PgListener;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout_at};

use crate::events;
use crate::kernel::database::is_unavailable;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::telemetry::chain;
use crate::webhooks::permits::{Flight, InFlight};
use crate::webhooks::record::Gone;
use crate::webhooks::rounds::{Rounds, Wake};
use crate::webhooks::sending::Attempt;
use crate::webhooks::{Claimed, Webhooks, calling_off, failing, replays, retention};

/// How long an attempt that has ended waits for others that are still in flight, to be written down with them: most of what a statement
/// costs, it costs once.
const COMPANY: Duration = Duration::from_millis(2);
/// Deliveries that one statement claims, and attempts that one statement records.
pub(super) const BATCH: usize = 100;
/// Before something that failed is tried again.
pub(super) const PAUSE: Duration = Duration::from_secs(1);
/// How often a batch is tried that the database refuses to record. After that each attempt is tried by itself; the lease of one that is
/// refused even so runs out, and it is made again.
const RECORDING_TRIES: u32 = 3;

/// An attempt that has ended, with the permit it goes on holding until it is written down.
pub(super) type Ended = (Attempt, Flight);

impl Webhooks {
    /// Starts the worker. When the program is asked to stop it claims nothing more, finishes what is in flight, and ends.
    pub fn start_worker(&self, lifecycle: &Lifecycle) {
        let (wake, in_flight) = (Arc::new(Wake::default()), InFlight::default());
        let (ended, results) = mpsc::channel(self.settings.concurrency());
        lifecycle.spawn(listen(self.clone(), lifecycle.clone(), Arc::clone(&wake)));
        lifecycle.spawn(retention::keep_house(self.clone(), lifecycle.clone()));
        lifecycle.spawn(failing::watch(self.clone(), lifecycle.clone()));
        lifecycle.spawn(failing::send_letters(self.clone(), lifecycle.clone()));
        lifecycle.spawn(calling_off::work_off(self.clone(), lifecycle.clone()));
        lifecycle.spawn(replays::work_off(self.clone(), lifecycle.clone()));
        lifecycle.spawn(record(self.clone(), lifecycle.clone(), Arc::clone(&wake), in_flight.clone(), results));
        lifecycle.spawn(Rounds::new(self.clone(), lifecycle.clone(), wake, in_flight, ended).run());
    }

    /// Does everything that is due now, once: what a test has instead of a running worker. Answers the attempts made.
    pub async fn run_due(&self) -> Result<usize, sqlx::Error> {
        let mut made = 0;
        loop {
            let flying = self.fly(BATCH).await?;
            if flying.is_empty() {
                break;
            }
            made += self.send_and_record(flying).await?;
        }
        while self.fan_out().await? > 0 {}
        self.reclaim().await?;
        while self.work_off_calling_off().await? {}
        while self.work_off_replays().await? {}
        loop {
            let claimed = self.claim(BATCH).await?;
            if claimed.is_empty() {
                return Ok(made);
            }
            made += self.send_and_record(claimed).await?;
        }
    }

    /// Sends what was claimed, all at once, and writes down what came of it. Answers how many there were.
    pub async fn send_and_record(&self, claimed: Vec<Claimed>) -> Result<usize, sqlx::Error> {
        let attempts = futures::future::join_all(claimed.into_iter().map(|claimed| self.send(claimed))).await;
        self.record(&attempts).await?;
        Ok(attempts.len())
    }
}

/// Writes down what has ended until nothing more can come.
async fn record(webhooks: Webhooks, lifecycle: Lifecycle, wake: Arc<Wake>, in_flight: InFlight, mut results: mpsc::Receiver<Ended>) {
    let mut ended = Vec::with_capacity(BATCH);
    while results.recv_many(&mut ended, BATCH).await > 0 {
        await_company(&mut ended, &in_flight, &mut results).await;
        let (attempts, permits): (Vec<_>, Vec<_>) = ended.drain(..).map(|(attempt, flight)| (attempt, flight.land())).unzip();
        let mut refused = 0;
        let gone = loop {
            let error = match webhooks.write_down(&attempts).await {
                Ok(gone) => break gone,
                Err(error) => error,
            };
            tracing::warn!(error = chain(&error), "attempts could not be recorded");
            refused += u32::from(!is_unavailable(&error));
            if refused == RECORDING_TRIES || lifecycle.stopping().is_cancelled() {
                break record_one_by_one(&webhooks, &attempts).await;
            }
            sleep(PAUSE).await;
        };
        drop(permits);
        wake.ended(&attempts);
        if !gone.is_empty() {
            let webhooks = webhooks.clone();
            lifecycle.spawn(async move { webhooks.disable_gone(gone).await });
        }
    }
}

/// Waits until a batch is full, or nothing else is in flight, or for as long as [`COMPANY`] is worth waiting for.
async fn await_company(ended: &mut Vec<Ended>, in_flight: &InFlight, results: &mut mpsc::Receiver<Ended>) {
    let until = Instant::now() + COMPANY;
    while ended.len() < BATCH && ended.len() < in_flight.count() {
        let room = BATCH - ended.len();
        match timeout_at(until, results.recv_many(ended, room)).await {
            Ok(more) if more > 0 => {}
            _ => break,
        }
    }
}

/// The last try, in which one that cannot be recorded does not take the others with it.
async fn record_one_by_one(webhooks: &Webhooks, attempts: &[Attempt]) -> Vec<Gone> {
    let mut gone = Vec::new();
    for attempt in attempts {
        match webhooks.write_down(std::slice::from_ref(attempt)).await {
            Ok(one) => gone.extend(one),
            Err(error) => {
                tracing::error!(delivery = %attempt.delivery, error = chain(&error), "an attempt stays unrecorded and will be made again");
            }
        }
    }
    gone
}

/// Turns news, and notifications of Postgres, into wake-ups.
async fn listen(webhooks: Webhooks, lifecycle: Lifecycle, wake: Arc<Wake>) {
    let mut news = webhooks.news.follow();
    let here = async {
        while news.changed().await.is_ok() {
            wake.published();
        }
    };
    let elsewhere = async {
        loop {
            if let Err(error) = hear(&webhooks, &wake).await {
                tracing::debug!(error = chain(&error), "not listening for events");
            }
            sleep(PAUSE).await;
        }
    };
    tokio::select! {
        () = lifecycle.stopping().cancelled() => {}
        ((), ()) = async { tokio::join!(here, elsewhere) } => {}
    }
}

async fn hear(webhooks: &Webhooks, wake: &Wake) -> Result<(), sqlx::Error> {
    let mut listener = PgListener::connect_with(&webhooks.engine).await?;
    listener.listen(events::PUBLISHED).await?;
    loop {
        // What was published while nobody listened, before the first notification and between two connections.
        wake.notified();
        // Of our own we know.
        while listener.try_recv().await?.is_some_and(|heard| webhooks.news.are_ours(heard.payload())) {}
    }
}
