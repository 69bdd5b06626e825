//! Brings the database in line with the files at startup.

use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::declared::{Declared, Unsuitable};
use crate::kernel::error_chain::chain;
use crate::kernel::lifecycle::Lifecycle;

/// The retry interval while the database is unavailable.
const RETRY_DELAY: Duration = Duration::from_secs(1);

impl Declared {
    /// Stores the schemas before requests are served, and creates indexes in the background. While the database is unavailable, the
    /// service runs and reports it. If the database then turns out not to match the files, the service shuts down.
    pub async fn start(&self, lifecycle: &Lifecycle) -> Result<(), Unsuitable> {
        let taken = match self.take_schemas().await {
            Err(error) if error.may_pass() => {
                tracing::warn!(error = chain(&error), "the declared extensions are waiting for the database");
                false
            }
            taken => taken.map(|()| true)?,
        };
        let (declared, stopping) = (self.clone(), lifecycle.stopping().clone());
        lifecycle.spawn(async move {
            tokio::select! {
                () = stopping.cancelled() => {}
                () = declared.finish(taken, &stopping) => {}
            }
        });
        Ok(())
    }

    async fn finish(&self, mut taken: bool, stopping: &CancellationToken) {
        while !taken {
            sleep(RETRY_DELAY).await;
            match self.take_schemas().await {
                Ok(()) => taken = true,
                Err(error) if error.may_pass() => {}
                Err(error) => {
                    tracing::error!(error = chain(&error), "the declared extensions do not match the database");
                    return stopping.cancel();
                }
            }
        }
        if let Err(error) = self.make_indexes().await {
            tracing::warn!(error = chain(&error), "indexes of declared extensions could not be created; the next start retries");
        }
    }
}
