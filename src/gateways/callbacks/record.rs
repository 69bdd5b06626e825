//! Recording callbacks: those that come at the same moment by one transaction, each once, with all that follows from it.

use std::sync::Arc;

use axum::body::Bytes;
use chrono::{DateTime, Utc};
use sqlx::{Connection, PgPool};

use crate::gateways::accounts::Found;
use crate::gateways::callbacks::Status;
use crate::gateways::callbacks::genuine::Genuine;
use crate::gateways::callbacks::process::{Teller, tell};
use crate::gateways::callbacks::queries::{self, NewCallback};
use crate::gateways::callbacks::receive::Taken;
use crate::gateways::callbacks::retry::{self, Failure};
use crate::gateways::driver::NotUnderstood;
use crate::kernel::clock::Clock;
use crate::kernel::database::kept_connection;
use crate::kernel::group_commit::GroupCommit;
use crate::kernel::ids::CallbackId;
use crate::kernel::kept_connection::KeptConnection;
use crate::kernel::lifecycle::Lifecycle;

/// Recorded together at most: enough to be cheap, few enough that the largest bodies take no great room.
const MOST: usize = 32;

/// Records what was verified, and answers what the gateway is told.
pub(in crate::gateways) type Recording = GroupCommit<Arc<Arrival>, Recorded>;

/// One that was here before is [`Taken::Repeated`], whatever became of it.
type Recorded = Result<Taken, NotUnderstood>;

/// Begins to gather callbacks. They have a connection of their own.
pub(in crate::gateways) fn recording(pool: &PgPool, clock: &Clock, lifecycle: &Lifecycle) -> Recording {
    let (connection, clock) = (kept_connection(pool), clock.clone());
    GroupCommit::new(lifecycle.clone(), MOST, move |arrivals| {
        let (connection, clock) = (connection.clone(), clock.clone());
        async move { record(&connection, &arrivals, clock.now()).await }
    })
}

/// A callback that was verified, and what it says.
#[derive(Debug)]
pub(in crate::gateways) struct Arrival {
    id: CallbackId,
    pub(super) from: Arc<Found>,
    body: Bytes,
    pub(super) genuine: Genuine,
    at: DateTime<Utc>,
}

/// Several at once are recorded or none is. One that is recorded by itself is kept even when processing it failed on our side; if it cannot
/// be kept either, the gateway sends it again.
async fn record(connection: &KeptConnection, arrivals: &[Arc<Arrival>], now: DateTime<Utc>) -> Result<Vec<Recorded>, sqlx::Error> {
    match (record_and_tell(connection, arrivals, now).await, arrivals) {
        (Err(error), [alone]) => {
            let failed = alone.row(Err(Failure::of(error)?));
            queries::insert_callbacks(&mut *connection.acquire().await?, &[failed]).await?;
            Ok(vec![Ok(Taken::Received)])
        }
        (recorded, _) => recorded,
    }
}

async fn record_and_tell(connection: &KeptConnection, arrivals: &[Arc<Arrival>], now: DateTime<Utc>) -> Result<Vec<Recorded>, sqlx::Error> {
    let mut conn = connection.acquire().await?;
    let mut transaction = conn.begin().await?;
    let rows: Vec<_> = arrivals.iter().map(|arrival| arrival.row(arrival.outcome())).collect();
    let new = queries::insert_callbacks(&mut transaction, &rows).await?;
    let tellers: Vec<_> = arrivals.iter().filter(|arrival| new.contains(&arrival.id)).filter_map(|arrival| arrival.teller()).collect();
    tell(&mut transaction, &tellers, now).await?;
    transaction.commit().await?;
    conn.keep();
    let recorded = |arrival: &Arc<Arrival>| if new.contains(&arrival.id) { arrival.taken() } else { Ok(Taken::Repeated) };
    Ok(arrivals.iter().map(recorded).collect())
}

impl Arrival {
    /// Reads what was verified.
    pub(super) fn read(from: Arc<Found>, body: Bytes, now: DateTime<Utc>) -> Self {
        let genuine = Genuine::read(&from, &body);
        Self { id: CallbackId::new(now), from, body, genuine, at: now }
    }

    /// Whether it tells anything, or why it cannot be processed.
    fn outcome(&self) -> Result<bool, Failure> {
        self.genuine.told.as_ref().map(Option::is_some).map_err(|not_understood| not_understood.clone().into())
    }

    /// What its gateway is told when it is new.
    fn taken(&self) -> Recorded {
        self.genuine.told.as_ref().map(|telling| if telling.is_some() { Taken::Received } else { Taken::Ignored }).map_err(Clone::clone)
    }

    fn teller(&self) -> Option<Teller<'_>> {
        let telling = self.genuine.told.as_ref().ok()?.as_ref()?;
        Some(Teller { from: &self.from, callback: self.id, key: &self.genuine.key, telling, at: self.at })
    }

    fn row(&self, outcome: Result<bool, Failure>) -> NewCallback<'_> {
        let (status, failure) = match outcome {
            Ok(true) => (Status::Processed, None),
            Ok(false) => (Status::Ignored, None),
            Err(failure) => (Status::Failed, Some(failure)),
        };
        NewCallback {
            id: self.id,
            at: self.at,
            company: self.from.company,
            gateway: Some(self.from.id),
            key: &self.genuine.key,
            kind: self.genuine.kind.as_deref(),
            status,
            reason: failure.as_ref().map(|failure| failure.reason),
            due_at: failure.as_ref().and_then(|_| retry::next_attempt(1, self.at)),
            detail: failure.map(|failure| failure.detail),
            body: &self.body,
            body_size: self.body.len(),
        }
    }
}
