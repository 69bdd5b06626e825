//! One connection that listens for commits and wakes all streams of this instance.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sqlx::PgPool;
use sqlx::postgres::PgListener;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::events;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::telemetry::chain;

/// The delay before a lost connection is reopened. Meanwhile the streams poll.
const PAUSE: Duration = Duration::from_secs(1);

/// The signal that events were committed.
#[derive(Debug, Default)]
pub(super) struct Listening {
    news: watch::Sender<()>,
    begun: AtomicBool,
}

impl Listening {
    /// Subscribes to the signal. The first call opens the connection, so that an instance without streams has none.
    pub(super) fn subscribe(&self, pool: &PgPool, lifecycle: &Lifecycle) -> watch::Receiver<()> {
        if !self.begun.swap(true, Ordering::Relaxed) {
            let (news, pool, stopping) = (self.news.clone(), pool.clone(), lifecycle.stopping().clone());
            lifecycle.spawn(async move {
                tokio::select! {
                    () = stopping.cancelled() => {}
                    () = listen(&pool, &news) => {}
                }
            });
        }
        self.news.subscribe()
    }
}

async fn listen(pool: &PgPool, news: &watch::Sender<()>) {
    loop {
        if let Err(error) = hear(pool, news).await {
            tracing::debug!(error = chain(&error), "not listening for events");
        }
        sleep(PAUSE).await;
    }
}

async fn hear(pool: &PgPool, news: &watch::Sender<()>) -> Result<(), sqlx::Error> {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.listen(events::PUBLISHED).await?;
    loop {
        news.send_replace(());
        listener.try_recv().await?;
    }
}
