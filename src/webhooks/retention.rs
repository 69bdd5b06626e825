//! Retention: which events, deliveries and attempts are kept, and for how long (`docs/specification/decisions.md`, section 7).
//!
//! The three tables are partitioned by the day of the id. Housekeeping creates the partitions of the coming days. When a day has been
//! over for longer than `webhooks.retention`, housekeeping drops its partitions, and leaves smaller ones with the rows that are still
//! needed: failed deliveries, which are kept for `webhooks.failed_retention`, and the attempts and events of deliveries that are still in
//! the log. Nobody waits for it (`tests/real/drills/long_reader.rs`).
//! Every delivery in the log therefore has its event, and an event is deleted with the last of its deliveries. Finished replays are
//! deleted when nothing is left that they could have replayed. What a paused webhook holds is cancelled when it is as old as a failed
//! delivery that is dropped; figures are kept for the longest period that can be asked for. What fails of all this keeps nothing else from being
//! done, except that the events of a day stay as long as its deliveries do.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::companies::moving;
use crate::events;
use crate::kernel::daily_partitions::{self, HousekeepingError};
use crate::kernel::database::Connection;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::steps::{Steps, Unfinished};
use crate::webhooks::{Webhooks, engine, figures, replays};

const HOUSEKEEPING_INTERVAL: Duration = Duration::from_secs(3600);

impl Webhooks {
    /// Creates the partitions of today and the coming days, before the first event of a program's life.
    pub async fn create_partitions(&self) -> Result<(), HousekeepingError> {
        let Some(lease) = daily_partitions::keep_house(&self.worker_pool).await? else { return Ok(()) };
        let create = async { create_ahead(&mut self.worker_pool.owner().acquire_patient().await?, self.clock.now()).await };
        lease.during(Box::pin(create)).await
    }

    /// Creates the partitions of the coming days and deletes what is past its retention. Events are last: one is needed as long as a
    /// delivery of it is in the log. Does nothing while another instance does it.
    pub async fn maintain_partitions(&self) -> Result<(), Unfinished> {
        match daily_partitions::keep_house(&self.worker_pool).await? {
            Some(lease) => lease.during(Box::pin(self.keep_house())).await,
            None => Ok(()),
        }
    }

    async fn keep_house(&self) -> Result<(), Unfinished> {
        let (now, mut steps) = (self.clock.now(), Steps::on(self.worker_pool.owner()));
        let before = |retention| now - TimeDelta::from_std(retention).unwrap_or(TimeDelta::days(36_500));
        let (kept_since, failed_since) = (before(self.settings.retention), before(self.settings.failed_retention));
        steps.run_apart("held deliveries", self.cancel_held(failed_since)).await;
        steps.run("attempt_hours", async |conn| figures::delete_expired_attempts(conn, now).await).await;
        steps.run("event_hours", async |conn| figures::delete_expired_events(conn, now).await).await;
        steps.run("replays", async |conn| replays::delete_ended(conn, failed_since).await).await;
        steps.run("replay_keys", async |conn| replays::delete_expired_keys(conn, now).await).await;
        steps.run("partitions of coming days", async |conn| create_ahead(conn, now).await).await;
        let dropped = steps.run("expired days", async |conn| drop_expired(conn, kept_since, failed_since).await).await;
        steps.finish()?;
        if dropped == Some(true) {
            self.maintained_at.set(self.clock.now().timestamp() as f64);
        }
        Ok(())
    }
}

/// Deletes what has expired of deliveries, attempts and events, in this order: what is kept of one decides what is kept of the next. Returns whether
/// this was the time for it.
async fn drop_expired(conn: &mut Connection, kept_since: DateTime<Utc>, failed_since: DateTime<Utc>) -> Result<bool, HousekeepingError> {
    // Of what comes from another cell, events arrive before the deliveries that they are kept for.
    if moving::any_awaits_its_log(conn).await? {
        return Ok(false);
    }
    engine::retention::delete_expired(conn, kept_since, failed_since).await?;
    events::delete_expired(conn, kept_since).await?;
    Ok(true)
}

async fn create_ahead(conn: &mut Connection, now: DateTime<Utc>) -> Result<(), HousekeepingError> {
    engine::retention::create_partitions(conn, now.date_naive()).await?;
    events::create_partitions(conn, now.date_naive()).await
}

/// Creates the partitions of the days that another database has, for a log that comes from there.
pub async fn create_partitions_as_in(other: &mut Connection, conn: &mut Connection) -> Result<(), HousekeepingError> {
    engine::retention::create_partitions_as_in(other, conn).await?;
    events::create_partitions_as_in(other, conn).await
}

/// Runs housekeeping at start-up and every hour. On shutdown the step that runs is given up, and is done again the next time.
pub async fn maintain_partitions(webhooks: Webhooks, lifecycle: Lifecycle) {
    let step = async || Box::pin(lifecycle.stopping().run_until_cancelled(webhooks.maintain_partitions())).await.unwrap_or(Ok(()));
    lifecycle.every(HOUSEKEEPING_INTERVAL, "housekeeping of the delivery log failed", step).await;
}
