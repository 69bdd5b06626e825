//! One task per instance listens for commits, polls once for all companies with open streams, and wakes the streams of the companies that
//! have new events.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqlx::PgPool;
use sqlx::postgres::PgListener;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::developers::stream::queries;
use crate::events;
use crate::kernel::clock::Clock;
use crate::kernel::ids::CompanyId;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::telemetry::chain;

/// The delay before a lost connection is reopened. Meanwhile the task polls.
const PAUSE: Duration = Duration::from_secs(1);
/// The poll interval without a notification.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The delay of the second poll after a notification. Concurrent commits may have sent no notification, or had to wait for an older
/// transaction.
const LOOK_AGAIN: Duration = Duration::from_millis(30);

/// The signals that wake the streams, by company.
#[derive(Debug, Default)]
pub(super) struct Listening {
    waiting: Mutex<HashMap<CompanyId, watch::Sender<()>>>,
    begun: AtomicBool,
}

impl Listening {
    /// Subscribes to the signal of a company. The first call starts the task, so that an instance without streams holds no connection.
    pub(super) fn subscribe(
        self: &Arc<Self>,
        company: CompanyId,
        pool: &PgPool,
        clock: &Clock,
        lifecycle: &Lifecycle,
    ) -> watch::Receiver<()> {
        let news = self.waiting().entry(company).or_default().subscribe();
        if !self.begun.swap(true, Ordering::Relaxed) {
            let (listening, pool, clock, stopping) = (Arc::clone(self), pool.clone(), clock.clone(), lifecycle.stopping().clone());
            lifecycle.spawn(async move {
                let commits = watch::Sender::default();
                tokio::select! {
                    () = stopping.cancelled() => {}
                    () = hear(&pool, &commits) => {}
                    () = listening.look_out(&pool, &clock, commits.subscribe()) => {}
                }
            });
        }
        news
    }

    async fn look_out(&self, pool: &PgPool, clock: &Clock, mut commits: watch::Receiver<()>) {
        let (mut looked_until, mut lively) = (0, false);
        loop {
            let found = match self.look(pool, clock, &mut looked_until).await {
                Ok(found) => found,
                Err(error) => {
                    tracing::debug!(error = chain(&error), "streams wait for the database");
                    false
                }
            };
            if found || lively {
                // Who looks again in a moment anyway need not be woken for each of many commits.
                sleep(LOOK_AGAIN).await;
                lively = found || commits.has_changed().unwrap_or_default();
                commits.mark_unchanged();
            } else {
                lively = timeout(LOOK_EVERY, commits.changed()).await.is_ok();
            }
        }
    }

    /// Wakes the streams of companies with events from transactions that were open at the last look; answers whether there were any.
    async fn look(&self, pool: &PgPool, clock: &Clock, looked_until: &mut i64) -> Result<bool, sqlx::Error> {
        let companies = self.companies();
        if companies.is_empty() {
            return Ok(false);
        }
        let news = queries::look_for_news(&mut *pool.acquire().await?, &companies, *looked_until, clock.now()).await?;
        *looked_until = news.looked_until;
        self.wake(&companies, &news.companies);
        Ok(!news.companies.is_empty())
    }

    /// Those with open streams.
    fn companies(&self) -> Vec<CompanyId> {
        let mut waiting = self.waiting();
        waiting.retain(|_, news| news.receiver_count() > 0);
        waiting.keys().copied().collect()
    }

    /// Wakes the streams of those with news, and of those who came after it was asked of whom there is any: they may have looked before.
    fn wake(&self, asked: &[CompanyId], with_news: &[CompanyId]) {
        let asked: HashSet<_> = asked.iter().collect();
        for (company, news) in &*self.waiting() {
            if !asked.contains(company) || with_news.contains(company) {
                news.send_replace(());
            }
        }
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<CompanyId, watch::Sender<()>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Passes on what Postgres notifies.
async fn hear(pool: &PgPool, commits: &watch::Sender<()>) {
    let notified = async || -> Result<(), sqlx::Error> {
        let mut listener = PgListener::connect_with(pool).await?;
        listener.listen(events::PUBLISHED).await?;
        loop {
            commits.send_replace(());
            listener.try_recv().await?;
        }
    };
    loop {
        if let Err(error) = notified().await {
            tracing::debug!(error = chain(&error), "notifications of new events are not available");
        }
        sleep(PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn those_with_news_are_woken_and_those_who_were_not_asked_about() {
        let listening = Listening::default();
        let company = |number| CompanyId::from(Uuid::from_u128(number));
        let wait = |number| listening.waiting().entry(company(number)).or_default().subscribe();
        let (with_news, without, late) = (wait(1), wait(2), wait(3));
        listening.wake(&[company(1), company(2)], &[company(1)]);
        assert_eq!([&with_news, &without, &late].map(|news| news.has_changed().unwrap()), [true, false, true]);
        drop(without);
        assert!(!listening.companies().contains(&company(2)), "nobody waits for its events any more");
    }
}
