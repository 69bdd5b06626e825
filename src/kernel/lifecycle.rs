//! Nothing is spawned that cannot be stopped and waited for.

use std::future::Future;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The program's wish to go on, and the tasks that have to end before it may stop.
#[derive(Clone, Debug, Default)]
pub struct Lifecycle {
    stopping: CancellationToken,
    tasks: TaskTracker,
}

impl Lifecycle {
    /// A program that goes on until `asked_to_stop` is cancelled: whatever lasts as long as the program is told at once, so that answering
    /// what is under way waits for nothing that would never end.
    pub fn until(asked_to_stop: CancellationToken) -> Self {
        Self { stopping: asked_to_stop, tasks: TaskTracker::new() }
    }

    /// Runs `task` until it ends by itself; it should end soon after [`Lifecycle::stopping`].
    pub fn spawn<F>(&self, task: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.tasks.spawn(task);
    }

    /// Runs `work` to its end even if who waits for it goes away, as a client does that hangs up.
    pub fn finish<T, F>(&self, work: F) -> impl Future<Output = T> + Send + use<T, F>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let (done, result) = oneshot::channel();
        self.spawn(async move {
            // That nobody waits any more is what this is for.
            let _ = done.send(work.await);
        });
        async { result.await.expect("the work is not cancelled, and a panic in it goes on here") }
    }

    /// Does `work` at once and then every `period`, later where it takes longer, until the program is asked to stop.
    pub async fn every<F>(&self, period: Duration, work: impl Fn() -> F)
    where
        F: Future<Output = ()>,
    {
        let mut times = interval(period);
        times.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while self.stopping.run_until_cancelled(times.tick()).await.is_some() {
            work().await;
        }
    }

    /// Is cancelled when the program is asked to stop.
    pub fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }

    /// Asks every task to end and waits for the last of them.
    pub async fn stop(&self) {
        self.stopping.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}
