//! Listens for events that were fanned out. One task per instance polls for all companies with open streams and wakes the streams of the
//! companies that have new events.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::developers::stream::queries;
use crate::events;
use crate::kernel::database::{Notifications, Pool};
use crate::kernel::error_chain::chain;
use crate::kernel::ids::CompanyId;
use crate::kernel::lifecycle::Lifecycle;

/// The delay before a lost connection is reopened. Meanwhile the task polls.
const RECONNECT_DELAY: Duration = Duration::from_secs(1);
/// The poll interval without a notification.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The delay of the second poll after a notification: another instance may be fanning out what it announced.
const RECHECK_DELAY: Duration = Duration::from_millis(30);

/// The signals that wake the streams, by company.
#[derive(Debug)]
pub(super) struct FeedListener {
    waiting: Mutex<HashMap<CompanyId, watch::Sender<()>>>,
    begun: AtomicBool,
    /// Changes when this instance has fanned out events.
    fanned_out: watch::Receiver<()>,
}

impl FeedListener {
    pub(super) fn new(fanned_out: watch::Receiver<()>) -> Self {
        Self { waiting: Mutex::default(), begun: AtomicBool::default(), fanned_out }
    }

    /// Subscribes to the signal of a company. The first call starts the task, so that an instance without streams holds no connection.
    pub(super) fn subscribe(self: &Arc<Self>, company: CompanyId, pool: &Pool, lifecycle: &Lifecycle) -> watch::Receiver<()> {
        let news = self.waiting().entry(company).or_default().subscribe();
        if !self.begun.swap(true, Ordering::Relaxed) {
            let (listener, pool, stopping) = (Arc::clone(self), pool.clone(), lifecycle.stopping().clone());
            lifecycle.spawn(async move {
                let commits = watch::Sender::default();
                tokio::select! {
                    () = stopping.cancelled() => {}
                    () = forward_notifications(&pool, &commits) => {}
                    () = listener.watch(&pool, commits.subscribe()) => {}
                }
            });
        }
        news
    }

    async fn watch(&self, pool: &Pool, mut commits: watch::Receiver<()>) {
        let (mut heads, mut recently_active, mut fanned_out) = (HashMap::new(), false, self.fanned_out.clone());
        loop {
            fanned_out.mark_unchanged();
            let found = match self.poll(pool, &mut heads).await {
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
                tokio::select! {
                    // What this instance has fanned out is there. What was committed is there soon.
                    Ok(()) = fanned_out.changed() => {}
                    changed = timeout(POLL_INTERVAL, commits.changed()) => recently_active = changed.is_ok(),
                }
            }
        }
    }

    /// Wakes the streams of companies whose feeds go further than at the last poll. Returns whether there were any. The streams of a company whose feed
    /// is gone end: it has moved to another cell.
    async fn poll(&self, pool: &Pool, heads: &mut HashMap<CompanyId, i64>) -> Result<bool, sqlx::Error> {
        let companies = self.companies();
        if companies.is_empty() {
            return Ok(false);
        }
        let now: HashMap<_, _> = queries::find_heads(&mut pool.acquire().await?, &companies).await?.into_iter().collect();
        for gone in companies.iter().filter(|company| heads.contains_key(*company) && !now.contains_key(*company)) {
            self.waiting().remove(gone);
        }
        let with_news: Vec<_> =
            now.iter().filter(|(company, last)| heads.get(*company) != Some(*last)).map(|(company, _)| *company).collect();
        *heads = now;
        self.wake(&companies, &with_news);
        Ok(!with_news.is_empty())
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
        let mut notifications = Notifications::listen(pool, &[events::PUBLISHED]).await?;
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
        let listening = FeedListener::new(watch::channel(()).1);
        let company = |number| CompanyId::from(Uuid::from_u128(number));
        let wait = |number| listening.waiting().entry(company(number)).or_default().subscribe();
        let (with_news, without, late) = (wait(1), wait(2), wait(3));
        listening.wake(&[company(1), company(2)], &[company(1)]);
        assert_eq!([&with_news, &without, &late].map(|commits| commits.has_changed().unwrap()), [true, false, true]);
        drop(without);
        assert!(!listening.companies().contains(&company(2)), "the company has no open streams");
    }
}
