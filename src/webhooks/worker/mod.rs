//! The worker: fans out, claims, sends and records for as long as the program runs.
//!
//! The *dispatcher* fans out events, and the *claimer* claims what has to wait first, never more deliveries than they hold permits
//! for. Each claimed delivery is sent by a task of its own, so a slow endpoint does not delay others. A *recorder* records finished
//! attempts in batches: all that have finished since the last write or are about to finish. With them it claims the next deliveries
//! to endpoints with a backlog; all other permits are released, and only after the write. A database outage therefore stops claiming
//! by itself, and the results of attempts made meanwhile wait in memory to be recorded. From before the first claim until all is
//! recorded, the *heart* beats. What is claimed for an endpoint that answers quickly is some deliveries [`ahead`] of what it may have at once.
//!
//! These tasks share a few [`tracks`](crate::webhooks::tracks). The [`heavy`] ones have a dispatcher and a recorder each, for companies
//! with much to do:
//!
//! ```text
//! light     dispatcher ──unfinished companies──▶ heavy        recorder       shortcut
//! heavy 0   dispatcher                                        recorder
//! heavy 1   dispatcher                                        recorder
//! lanes     claimer, for all companies
//! ```
//!
//! The [`shortcut`] claims at once what the light dispatcher had to queue; the claimer may come to it late. A publisher of this instance
//! ([`Webhooks::publish`]) hands over what it has taken into flight itself ([`launching`](crate::webhooks::launching)).
//!
//! The dispatcher is woken by events published in this instance ([`events::CommitNotifier`]), by a PostgreSQL notification
//! ([`events::PUBLISHED`]), or by a timer; the claimer by fan-out, by the recorders, by a notification of a webhook that is no longer
//! paused ([`RESUMED`]), or by a timer. Notifications only speed up what polling would find.

mod ahead;
mod claimer;
mod collector;
mod dispatcher;
mod fan_out;
mod heart;
mod heavy;
mod lanes;
mod launcher;
mod recorder;
mod rounds;
mod shortcut;
mod wake;

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::future::join_all;
use tokio::sync::mpsc;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::events;
use crate::kernel::database::Notifications;
use crate::kernel::error_chain::chain;
use crate::kernel::lifecycle::Lifecycle;
use crate::webhooks::engine::endpoints::RESUMED;
use crate::webhooks::engine::refill::Refill;
use crate::webhooks::engine::vacuum;
use crate::webhooks::permits::InFlight;
use crate::webhooks::tracks::Track;
use crate::webhooks::worker::claimer::Claimer;
use crate::webhooks::worker::dispatcher::Dispatcher;
use crate::webhooks::worker::fan_out::FanOut;
use crate::webhooks::worker::heart::Heart;
use crate::webhooks::worker::heavy::{Heavy, HeavyDispatcher};
use crate::webhooks::worker::launcher::{Launcher, ToRecorder};
use crate::webhooks::worker::recorder::Recorder;
use crate::webhooks::worker::rounds::Rounds;
use crate::webhooks::worker::shortcut::ShortcutClaimer;
use crate::webhooks::worker::wake::Wake;
use crate::webhooks::{Attempt, Claimed, Webhooks, cancellation, failing, replays, retention};

/// Maximum number of deliveries that one statement claims, and of attempts that one statement records.
const BATCH: usize = 200;
/// The pause before a failed operation is retried.
const RETRY_DELAY: Duration = Duration::from_secs(1);

impl Webhooks {
    /// Starts the worker. On shutdown it stops claiming, finishes the deliveries in flight and ends.
    pub fn start_worker(&self, lifecycle: &Lifecycle) {
        let (wake, heavy) = (Arc::new(Wake::default()), Arc::new(Heavy::default()));
        lifecycle.spawn(listen(self.clone(), lifecycle.clone(), Arc::clone(&wake)));
        lifecycle.spawn(retention::maintain_partitions(self.clone(), lifecycle.clone()));
        lifecycle.spawn(vacuum::run(self.clone(), lifecycle.clone()));
        lifecycle.spawn(failing::watch(self.clone(), lifecycle.clone()));
        lifecycle.spawn(failing::send_letters(self.clone(), lifecycle.clone()));
        lifecycle.spawn(cancellation::run(self.clone(), lifecycle.clone()));
        lifecycle.spawn(replays::run(self.clone(), lifecycle.clone()));
        self.start_moving(lifecycle, &wake, &heavy);
    }

    /// Starts the tasks that move deliveries.
    fn start_moving(&self, lifecycle: &Lifecycle, wake: &Arc<Wake>, heavy: &Arc<Heavy>) {
        let (mut ways, mut ends) = (HashMap::new(), Vec::new());
        for track in Track::of_companies() {
            let ((ended, results), in_flight) = (mpsc::channel(self.settings.concurrency()), InFlight::default());
            ends.push((track, in_flight.clone(), results));
            ways.insert(track, ToRecorder { in_flight, ended });
        }
        let launcher = Arc::new(Launcher::new(self.clone(), lifecycle.clone(), Arc::clone(wake), Arc::clone(heavy), ways));
        lifecycle.spawn(Arc::clone(&launcher).keep_lines_short());
        let (mut recorders, heart) = (Vec::new(), Arc::new(Heart::default()));
        for (track, in_flight, results) in ends {
            let recorder = Recorder::new(track, self.clone(), lifecycle.clone(), Arc::clone(wake), in_flight, Arc::downgrade(&launcher));
            recorders.push(recorder.run(results));
            let fan_out = FanOut { track, webhooks: self.clone(), wake: Arc::clone(wake), launcher: Arc::clone(&launcher) };
            match track {
                Track::Heavy(number) => self.start_rounds(HeavyDispatcher::new(number, Arc::clone(heavy), fan_out), lifecycle, &heart),
                Track::Light | Track::Lanes => self.start_rounds(Dispatcher::new(fan_out, Arc::clone(heavy)), lifecycle, &heart),
            }
        }
        let recorders = async { _ = join_all(recorders).await };
        lifecycle.spawn(Arc::clone(&heart).beat_during(self.clone(), recorders));
        lifecycle.spawn(self.clone().launch_for_publishers(Arc::downgrade(&launcher), Arc::clone(&heart), lifecycle.stopping().clone()));
        let shortcut = ShortcutClaimer::new(self.clone(), Arc::clone(wake), Arc::clone(&launcher));
        self.start_rounds(shortcut, lifecycle, &heart);
        let claimer = Claimer::new(self.clone(), Arc::clone(wake), launcher);
        self.start_rounds(claimer, lifecycle, &heart);
    }

    /// Starts a task that claims. It begins when the others know that this worker lives, so that they notice if it dies.
    fn start_rounds(&self, task: impl Rounds + 'static, lifecycle: &Lifecycle, heart: &Arc<Heart>) {
        let rounds = rounds::run(task, lifecycle.clone(), self.progress.begin());
        let (heart, stopping) = (Arc::clone(heart), lifecycle.stopping().clone());
        lifecycle.spawn(async move {
            if stopping.run_until_cancelled(heart.beats()).await.is_some() {
                rounds.await;
            }
        });
    }

    /// Sends what publishers take into flight, from when the others know that this worker lives.
    async fn launch_for_publishers(self, launcher: Weak<Launcher>, heart: Arc<Heart>, stopping: CancellationToken) {
        if stopping.run_until_cancelled(heart.beats()).await.is_some() {
            self.launching.begin(launcher, stopping);
        }
    }

    /// Does everything that is due now, once, and returns the number of attempts made. Tests use this instead of a running worker.
    pub async fn run_due(&self) -> Result<usize, sqlx::Error> {
        let mut made = 0;
        loop {
            let claimed = self.fan_out_and_claim(BATCH).await?;
            if claimed.is_empty() {
                break;
            }
            made += self.send_and_record(claimed).await?;
        }
        self.fan_out().await?;
        self.reclaim().await?;
        while self.close_cancelled().await? {}
        while self.continue_replays().await? {}
        loop {
            let claimed = self.claim(BATCH).await?;
            if claimed.is_empty() {
                return Ok(made);
            }
            made += self.send_and_record(claimed).await?;
        }
    }

    /// Sends a claimed delivery; pass the result to [`Webhooks::record`].
    pub async fn send(&self, claimed: Claimed) -> Attempt {
        self.delivering.sender.send(claimed).await
    }

    /// Logs `attempts`, moves their deliveries to the next state, and disables the subscriptions whose endpoints responded with
    /// 410.
    pub async fn record(&self, attempts: &[Attempt]) -> Result<(), sqlx::Error> {
        let recorded = self.record_batch(Track::Light, attempts, Refill::default).await?;
        self.disable_gone(recorded.gone).await;
        Ok(())
    }

    /// Sends claimed deliveries concurrently, records the results, and returns the number of attempts.
    pub async fn send_and_record(&self, claimed: Vec<Claimed>) -> Result<usize, sqlx::Error> {
        let attempts = futures::future::join_all(claimed.into_iter().map(|claimed| self.send(claimed))).await;
        self.record(&attempts).await?;
        Ok(attempts.len())
    }
}

/// Wakes the dispatcher or the claimer when a PostgreSQL notification arrives.
async fn listen(webhooks: Webhooks, lifecycle: Lifecycle, wake: Arc<Wake>) {
    let listening = async {
        loop {
            if let Err(error) = forward_notifications(&webhooks, &wake).await {
                tracing::debug!(error = chain(&error), "notifications of new events are not available");
            }
            sleep(RETRY_DELAY).await;
        }
    };
    tokio::select! {
        () = lifecycle.stopping().cancelled() => {}
        () = listening => {}
    }
}

async fn forward_notifications(webhooks: &Webhooks, wake: &Wake) -> Result<(), sqlx::Error> {
    let mut notifications = Notifications::listen(&webhooks.worker_pool, &[events::PUBLISHED, RESUMED]).await?;
    // Events can be published and webhooks resumed before `listen` takes effect or between two connections, so wake once before the first
    // notification.
    wake.notified();
    wake.resumed();
    loop {
        let notification = notifications.next().await?;
        // The dispatcher already knows of the events that this instance committed.
        match notification.channel {
            RESUMED => wake.resumed(),
            _ if webhooks.notifier.is_own(&notification.payload) => {}
            _ => wake.notified(),
        }
    }
}
