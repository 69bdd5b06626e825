//! Calling off: what waits is closed as cancelled, because somebody asked for it or because its subscription is not served any more.
//!
//! One delivery is called off at once. What waits for an endpoint may be a million: whoever disables or deletes the subscription notes in the
//! same transaction how far its deliveries are called off, and closes a batch of them, which most often is all. The worker closes the others,
//! a batch at a time, and then takes the note away. Who stops half-way is followed by whoever looks next; any number may do so at once.
//!
//! As long as the note is there, nothing that waits for the endpoint is claimed: none of what was called off is sent after that commit. What
//! a subscription that is enabled again waits for meanwhile is claimed when the note is gone. What is in flight may still arrive, but is not
//! repeated.

mod queries;

use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::kernel::ids::{CompanyId, DeliveryId, SubscriptionId};
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::telemetry::chain;
use crate::resources::{Edit, Shown};
use crate::webhooks::calling_off::queries::CalledOff;
use crate::webhooks::delivery_log::Delivery;
use crate::webhooks::{Webhooks, replays};

/// Deliveries closed at once. Nobody waits long for so many.
const BATCH: usize = 1000;
/// How often the worker looks.
const EVERY: Duration = Duration::from_secs(1);

/// Calls off whatever waits for a subscription, and ends its replays.
pub(super) async fn call_off_all(conn: &mut PgConnection, subscription: SubscriptionId, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    replays::stop_replays(conn, subscription, now).await?;
    queries::lock_endpoint(conn, subscription).await?;
    let called_off = queries::call_off(conn, subscription).await?;
    if close_batch(conn, called_off, now).await? < BATCH {
        queries::finish(conn, called_off).await?;
    }
    Ok(())
}

/// Closes the next of them, and answers how many there were.
async fn close_batch(conn: &mut PgConnection, called_off: CalledOff, now: DateTime<Utc>) -> Result<usize, sqlx::Error> {
    let batch = queries::lock_batch(conn, called_off, BATCH).await?;
    queries::close(conn, &batch, now).await?;
    Ok(batch.len())
}

impl Webhooks {
    /// Calls off a delivery. One in flight may still arrive, but is not repeated.
    pub(super) async fn cancel(&self, company: CompanyId, id: DeliveryId) -> Result<Shown<Delivery>, Problem> {
        let mut edit = Edit::begin(self, company).await?;
        let subscription = edit.show::<Delivery>(id).await?.record.fields.subscription_id;
        let now = edit.now;
        queries::lock_endpoint(edit.conn(), subscription).await?;
        if !queries::close(edit.conn(), &[id], now).await? && !queries::call_off_in_flight(edit.conn(), id).await? {
            return Err(ProblemCode::DeliveryClosed.into());
        }
        let shown = edit.show::<Delivery>(id).await?;
        edit.commit().await?;
        Ok(shown)
    }

    /// Closes the next batch of what is called off, for each endpoint in turn: none waits for the backlog of another. Answers whether there
    /// was any.
    pub async fn work_off_calling_off(&self) -> Result<bool, sqlx::Error> {
        let called_off = queries::find_called_off(&mut *self.engine.acquire().await?).await?;
        let mut any = false;
        for called_off in called_off {
            match self.close_next(called_off).await {
                Ok(closed) => any |= closed > 0,
                Err(error) => {
                    let endpoint = called_off.subscription;
                    tracing::warn!(%endpoint, error = chain(&error), "deliveries that were called off are not closed yet; the next second will do it");
                }
            }
        }
        Ok(any)
    }

    async fn close_next(&self, called_off: CalledOff) -> Result<usize, sqlx::Error> {
        let mut transaction = self.engine.begin().await?;
        let closed = close_batch(&mut transaction, called_off, self.clock.now()).await?;
        transaction.commit().await?;
        if closed < BATCH {
            // Not in that transaction: who has locked the endpoint may wait for one of its deliveries.
            queries::finish(&mut *self.engine.acquire().await?, called_off).await?;
        }
        Ok(closed)
    }
}

/// Closes what is called off, as long as the program runs.
pub(super) async fn work_off(webhooks: Webhooks, lifecycle: Lifecycle) {
    let batches = async || {
        while !lifecycle.stopping().is_cancelled() && webhooks.work_off_calling_off().await? {}
        Ok::<_, sqlx::Error>(())
    };
    let second = || async {
        if let Err(error) = batches().await {
            tracing::warn!(error = chain(&error), "what is called off cannot be looked up; the next second will do it");
        }
    };
    lifecycle.every(EVERY, second).await;
}
