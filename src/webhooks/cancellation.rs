//! Cancelling: closes waiting deliveries as cancelled, on request or because their subscription is disabled or deleted.
//!
//! A single delivery is cancelled at once. A million deliveries may wait for an endpoint. The transaction that disables or deletes
//! the subscription therefore marks how far its deliveries are cancelled, and closes one batch, which usually is all of them. The
//! worker closes the rest batch by batch and then removes the mark. If an instance stops half-way, the next run of any instance
//! continues. Any number of instances can do this concurrently.
//!
//! While the mark is set, no waiting delivery of the endpoint is claimed, so no cancelled delivery is sent after that commit. If
//! the subscription is enabled again meanwhile, its new deliveries are claimed once the mark is removed. A delivery in flight may
//! still arrive, but is not retried.

use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::callers::Caller;
use crate::kernel::database::Connection;
use crate::kernel::error_chain::chain;
use crate::kernel::ids::{DeliveryId, SubscriptionId};
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::resources::{RecordTransaction, Resource, Shown};
use crate::webhooks::Webhooks;
use crate::webhooks::delivery_log::Delivery;
use crate::webhooks::engine::cancel::{self, Cancellation};
use crate::webhooks::engine::endpoints;

/// Number of deliveries closed at once; small enough that other transactions do not wait long.
const BATCH: usize = 1000;
/// The interval at which the worker looks for cancelled deliveries.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Cancels all open deliveries of a subscription.
pub async fn cancel_all(conn: &mut Connection, subscription: SubscriptionId, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    endpoints::lock(conn, subscription).await?;
    let cancellation = cancel::cancel_waiting(conn, subscription).await?;
    if close_batch(conn, cancellation, now).await? < BATCH {
        cancel::finish(conn, cancellation).await?;
    }
    Ok(())
}

/// Closes the next batch and returns its size.
async fn close_batch(conn: &mut Connection, cancellation: Cancellation, now: DateTime<Utc>) -> Result<usize, sqlx::Error> {
    let batch = cancel::lock_batch(conn, cancellation, BATCH).await?;
    cancel::close(conn, &batch, now).await?;
    Ok(batch.len())
}

impl Webhooks {
    /// Cancels a delivery. A delivery in flight may still arrive, but is not retried.
    pub(super) async fn cancel(&self, caller: &Caller, id: DeliveryId) -> Result<Shown<Delivery>, Problem> {
        Delivery::require(caller, Delivery::writing())?;
        let mut transaction = RecordTransaction::begin(self, caller).await?;
        let subscription = transaction.show::<Delivery>(id).await?.record.fields.subscription_id;
        let now = transaction.now;
        endpoints::lock(transaction.conn(), subscription).await?;
        if !cancel::close(transaction.conn(), &[id], now).await? && !cancel::cancel_in_flight(transaction.conn(), id).await? {
            return Err(ProblemCode::DeliveryClosed.into());
        }
        let shown = transaction.show::<Delivery>(id).await?;
        transaction.commit().await?;
        Ok(shown)
    }

    /// Cancels the deliveries that paused webhooks have held since before `made_before`. A pause that was forgotten ends no delivery
    /// otherwise, and would keep everything for good.
    pub(super) async fn cancel_held(&self, made_before: DateTime<Utc>) -> Result<(), sqlx::Error> {
        let paused = cancel::list_paused(&mut self.worker_pool.acquire().await?).await?;
        for subscription in paused {
            loop {
                let mut transaction = self.worker_pool.begin().await?;
                endpoints::lock(&mut transaction, subscription).await?;
                let held = cancel::list_waiting(&mut transaction, subscription, made_before, BATCH).await?;
                cancel::close(&mut transaction, &held, self.clock.now()).await?;
                transaction.commit().await?;
                if held.len() < BATCH {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Closes the next batch of cancelled deliveries of each endpoint in turn, so no endpoint waits for the backlog of another.
    /// Returns whether there were any.
    pub async fn close_cancelled(&self) -> Result<bool, sqlx::Error> {
        let cancellations = cancel::find_cancelled(&mut self.worker_pool.acquire().await?).await?;
        let mut any = false;
        for cancellation in cancellations {
            match self.close_next(cancellation).await {
                Ok(closed) => any |= closed > 0,
                Err(error) => {
                    let endpoint = cancellation.subscription;
                    tracing::warn!(%endpoint, error = chain(&error), "cancelled deliveries could not be closed; retrying in a second");
                }
            }
        }
        Ok(any)
    }

    async fn close_next(&self, cancellation: Cancellation) -> Result<usize, sqlx::Error> {
        let mut transaction = self.worker_pool.begin().await?;
        let closed = close_batch(&mut transaction, cancellation, self.clock.now()).await?;
        transaction.commit().await?;
        if closed < BATCH {
            // In a transaction of its own: a transaction that holds the lock of the endpoint may wait for one of the deliveries
            // locked here.
            cancel::finish(&mut self.worker_pool.acquire().await?, cancellation).await?;
        }
        Ok(closed)
    }
}

/// Closes cancelled deliveries as long as the program runs.
pub async fn run(webhooks: Webhooks, lifecycle: Lifecycle) {
    let batches = || async {
        while !lifecycle.stopping().is_cancelled() && webhooks.close_cancelled().await? {}
        Ok::<_, sqlx::Error>(())
    };
    lifecycle.every(POLL_INTERVAL, "cancelled deliveries could not be read", batches).await;
}
