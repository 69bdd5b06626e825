//! Shutdown: every spawned task can be stopped and waited for.

use std::future::Future;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The shutdown token and the tasks that must end before the program exits.
#[derive(Clone, Debug, Default)]
pub struct Lifecycle {
    stopping: CancellationToken,
    tasks: TaskTracker,
}

impl Lifecycle {
    /// A lifecycle that ends when `shutdown_signal` is cancelled. Tasks that last as long as the program learn of it at once, so that
    /// requests in flight never wait for a task that would not end.
    pub fn until(shutdown_signal: CancellationToken) -> Self {
        Self { stopping: shutdown_signal, tasks: TaskTracker::new() }
    }

    /// Runs `task` until it ends by itself. It should end soon after [`Lifecycle::stopping`] is cancelled.
    pub fn spawn<F>(&self, task: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.tasks.spawn(task);
    }

    /// Runs `work` to completion even if the returned future is dropped, for example because the client disconnects.
    pub fn finish<T, F>(&self, work: F) -> impl Future<Output = T> + Send + use<T, F>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let (done, result) = oneshot::channel();
        self.spawn(async move {
            // The receiver may have been dropped; the work is complete all the same.
            let _ = done.send(work.await);
        });
        async { result.await.expect("the task is not cancelled; if it panics, the panic is propagated here") }
    }

    /// Runs `work` at once and then every `period`, with a delay if a run takes longer, until shutdown.
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

    /// The token that is cancelled on shutdown.
    pub fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }

    /// Requests shutdown and waits until every task has ended.
    pub async fn stop(&self) {
        self.stopping.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}
