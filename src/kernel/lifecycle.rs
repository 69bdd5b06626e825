//! Shutdown: every spawned task can be stopped and waited for.

use std::error::Error;
use std::future::Future;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::kernel::error_chain::chain;
use crate::kernel::traces::carried;

/// The shutdown token and the tasks that must end before the program exits.
#[derive(Clone, Debug, Default)]
pub struct Lifecycle {
    /// Requests are still served, but no further ones should come.
    leaving: CancellationToken,
    stopping: CancellationToken,
    tasks: TaskTracker,
}

impl Lifecycle {
    /// A lifecycle that ends when `shutdown_signal` is cancelled. Tasks that last as long as the program learn of it at once, so that
    /// requests in flight never wait for a task that would not end.
    pub fn until(shutdown_signal: CancellationToken) -> Self {
        Self { leaving: shutdown_signal.clone(), stopping: shutdown_signal, tasks: TaskTracker::new() }
    }

    /// Leaves once `shutdown_signal` is cancelled, so that proxies send no further requests, and ends after `delay`.
    pub fn leave_at(&self, shutdown_signal: CancellationToken, delay: Duration) {
        let (leaving, stopping) = (self.leaving.clone(), self.stopping.clone());
        self.spawn(async move {
            stopping.run_until_cancelled(shutdown_signal.cancelled()).await;
            leaving.cancel();
            if !delay.is_zero() && !stopping.is_cancelled() {
                tracing::info!("shutting down in {delay:?}; until then requests are served, and /readyz fails");
            }
            stopping.run_until_cancelled(sleep(delay)).await;
            stopping.cancel();
        });
    }

    /// Runs `task` until it ends by itself. It should end soon after [`Lifecycle::stopping`] is cancelled.
    pub fn spawn<F>(&self, task: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.tasks.spawn(task);
    }

    /// Runs `work` to completion even if the returned future is dropped, for example because the client disconnects. It stays part of the
    /// span that this task works on.
    pub fn finish<T, F>(&self, work: F) -> impl Future<Output = T> + Send + use<T, F>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let (done, result) = oneshot::channel();
        let work = carried(work);
        self.spawn(async move {
            // The receiver may have been dropped; the work is complete all the same.
            let _ = done.send(work.await);
        });
        async { result.await.expect("the task is not cancelled; if it panics, the panic is propagated here") }
    }

    /// Runs `work` at once and then every `period`, with a delay if a run takes longer, until shutdown. If a run fails, this is
    /// logged as `failure` with the error, and the next run is the retry.
    pub async fn every<F, T, E>(&self, period: Duration, failure: &str, work: impl Fn() -> F)
    where
        F: Future<Output = Result<T, E>>,
        E: Error,
    {
        let mut times = interval(period);
        times.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while self.stopping.run_until_cancelled(times.tick()).await.is_some() {
            if let Err(error) = work().await {
                tracing::warn!(error = chain(&error), "{failure}; retrying in {period:?}");
            }
        }
    }

    /// Announces shutdown: no further requests should come.
    pub fn leave(&self) {
        self.leaving.cancel();
    }

    /// Whether no further requests should come, because shutdown is near or has begun.
    pub fn is_leaving(&self) -> bool {
        self.leaving.is_cancelled() || self.stopping.is_cancelled()
    }

    /// The token that is cancelled on shutdown.
    pub fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }

    /// Requests shutdown and waits until every task has ended.
    pub async fn stop(&self) {
        self.stopping.cancel();
        self.leaving.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_leaves_stops_only_after_the_delay() {
        let (signal, lifecycle) = (CancellationToken::new(), Lifecycle::default());
        lifecycle.leave_at(signal.clone(), Duration::from_secs(5));
        assert!(!lifecycle.is_leaving());
        signal.cancel();
        tokio::time::sleep(Duration::from_millis(4_900)).await;
        assert!(lifecycle.is_leaving() && !lifecycle.stopping().is_cancelled());
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(lifecycle.stopping().is_cancelled());
        lifecycle.stop().await;
    }

    #[tokio::test]
    async fn work_that_fails_is_tried_again_until_shutdown() {
        let (lifecycle, runs) = (Lifecycle::default(), AtomicU32::new(0));
        let work = || async {
            if runs.fetch_add(1, Ordering::Relaxed) == 2 {
                lifecycle.stopping().cancel();
                return Ok(());
            }
            Err(std::fmt::Error)
        };
        lifecycle.every(Duration::from_millis(1), "the work could not be done", work).await;
        assert_eq!(runs.into_inner(), 3);
    }
}
