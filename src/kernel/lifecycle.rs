//! Nothing is spawned that cannot be stopped and waited for.

use std::future::Future;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The program's wish to go on, and the tasks that have to end before it may stop.
#[derive(Clone, Debug, Default)]
pub struct Lifecycle {
    stopping: CancellationToken,
    tasks: TaskTracker,
}

impl Lifecycle {
    /// Runs `task` until it ends by itself; it should end soon after [`Lifecycle::stopping`].
    pub fn spawn<F>(&self, task: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.tasks.spawn(task);
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
