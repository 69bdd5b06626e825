//! Listens for commits. One task per instance polls for all companies with open streams and wakes the streams of the companies that
//! have new events.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::developers::stream::queries;
use crate::events;
use crate::kernel::clock::Clock;
use crate::kernel::database::{Notifications, Pool};
use crate::kernel::error_chain::chain;
use crate::kernel::ids::CompanyId;
use crate::kernel::lifecycle::Lifecycle;

/// The delay before a lost connection is reopened. Meanwhile the task polls.
const RECONNECT_DELAY: Duration = Duration::from_secs(1);
/// The poll interval without a notification.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The delay of the second poll after a notification. Concurrent commits may have sent no notification, or had to wait for an older
/// transaction.
const RECHECK_DELAY: Duration = Duration::from_millis(30);

/// The signals that wake the streams, by company.
#[derive(Debug, Default)]
pub(super) struct CommitListener {
    waiting: Mutex<HashMap<CompanyId, watch::Sender<()>>>,
    begun: AtomicBool,
}

impl CommitListener {
    /// Subscribes to the signal of a company. The first call starts the task, so that an instance without streams holds no connection.
    pub(super) fn subscribe(
        self: &Arc<Self>,
        company: CompanyId,
        pool: &Pool,
        clock: &Clock,
        lifecycle: &Lifecycle,
    ) -> watch::Receiver<()> {
        let commits = self.waiting().entry(company).or_default().subscribe();
        if !self.begun.swap(true, Ordering::Relaxed) {
            let (listener, pool, clock, stopping) = (Arc::clone(self), pool.clone(), clock.clone(), lifecycle.stopping().clone());
            lifecycle.spawn(async move {
                let commits = watch::Sender::default();
                tokio::select! {
                    () = stopping.cancelled() => {}
                    () = forward_notifications(&pool, &commits) => {}
                    () = listener.watch(&pool, &clock, commits.subscribe()) => {}
                }
            });
        }
        commits
    }

    async fn watch(&self, pool: &Pool, clock: &Clock, mut commits: watch::Receiver<()>) {
        let (mut polled_until, mut recently_active) = (0, false);
        loop {
            let found = match self.poll(pool, clock, &mut polled_until).await {
                Ok(found) => found,
                Err(error) => {
                    tracing::debug!(error = chain(&error), "event streams are waiting for the database");
                    false
                }
            };
            if found || recently_active {
                // A task that polls again shortly anyway is not woken for each of many commits.
                sleep(RECHECK_DELAY).await;
                recently_active = found || commits.has_changed().unwrap_or_default();
                commits.mark_unchanged();
            } else {
                recently_active = timeout(POLL_INTERVAL, commits.changed()).await.is_ok();
            }
        }
    }

    /// Wakes the streams of companies with events of transactions that were open at the last poll. Returns whether there were any.
    async fn poll(&self, pool: &Pool, clock: &Clock, polled_until: &mut i64) -> Result<bool, sqlx::Error> {
        let companies = self.companies();
        if companies.is_empty() {
            return Ok(false);
        }
        let news = queries::find_companies_with_news(&mut pool.acquire().await?, &companies, *polled_until, clock.now()).await?;
        *polled_until = news.polled_until;
        self.wake(&companies, &news.companies);
        Ok(!news.companies.is_empty())
    }

    /// The companies with open streams.
    fn companies(&self) -> Vec<CompanyId> {
        let mut waiting = self.waiting();
        waiting.retain(|_, commits| commits.receiver_count() > 0);
        waiting.keys().copied().collect()
    }

    /// Wakes the streams of the companies with new events, and those that were opened during the poll: they may have polled before.
    fn wake(&self, polled: &[CompanyId], with_news: &[CompanyId]) {
        let polled: HashSet<_> = polled.iter().collect();
        for (company, commits) in &*self.waiting() {
            if !polled.contains(company) || with_news.contains(company) {
                commits.send_replace(());
            }
        }
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<CompanyId, watch::Sender<()>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forwards PostgreSQL notifications to `commits`.
async fn forward_notifications(pool: &Pool, commits: &watch::Sender<()>) {
    let notified = async || -> Result<(), sqlx::Error> {
        let mut notifications = Notifications::listen(pool, [events::PUBLISHED]).await?;
        loop {
            commits.send_replace(());
            notifications.next().await?;
        }
    };
    loop {
        if let Err(error) = notified().await {
            tracing::debug!(error = chain(&error), "notifications of new events are not available");
        }
        sleep(RECONNECT_DELAY).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn those_with_news_are_woken_and_those_who_were_not_asked_about() {
        let listening = CommitListener::default();
        let company = |number| CompanyId::from(Uuid::from_u128(number));
        let wait = |number| listening.waiting().entry(company(number)).or_default().subscribe();
        let (with_news, without, late) = (wait(1), wait(2), wait(3));
        listening.wake(&[company(1), company(2)], &[company(1)]);
        assert_eq!([&with_news, &without, &late].map(|commits| commits.has_changed().unwrap()), [true, false, true]);
        drop(without);
        assert!(!listening.companies().contains(&company(2)), "the company has no open streams");
    }
}
