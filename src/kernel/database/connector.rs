//! How connections are opened, and which of them may be used again.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use deadpool::managed::{Manager, Metrics, RecycleError, RecycleResult};
use sqlx::PgConnection;
use tokio::time::timeout;

use crate::kernel::database::servers::Servers;

/// A connection that was used within this time is not asked before reuse whether it is there, because that takes as long as a statement.
const ASK_AFTER_IDLE: Duration = Duration::from_secs(1);
/// How long the answer may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);
/// A connection that is older is replaced, so that the memory it has gathered at the server is freed.
const MAX_AGE: Duration = Duration::from_secs(30 * 60);

/// Opens the connections of a pool.
#[derive(Debug)]
pub struct Connector {
    pub(super) servers: Servers,
    /// When a connection was lost. What was not used since is lost too: a server that fails over or a network that swallows packets
    /// does so to all connections.
    lost_at: Mutex<Option<Instant>>,
}

impl Connector {
    pub(super) fn new(servers: Servers) -> Self {
        Self { servers, lost_at: Mutex::new(None) }
    }

    /// Notes that a connection does not answer.
    pub(super) fn note_loss(&self) {
        *self.lost_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Notes that the answer of a connection has not come in time. Behind a pooler it may have waited for a session, and says nothing of others.
    pub(super) fn note_silence(&self) {
        if !self.servers.are_poolers() {
            self.note_loss();
        }
    }

    fn was_lost_since(&self, used: Instant) -> bool {
        self.lost_at.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|lost| used <= lost)
    }
}

impl Manager for Connector {
    type Type = PgConnection;
    type Error = sqlx::Error;

    async fn create(&self) -> Result<PgConnection, sqlx::Error> {
        // Boxed: it is large, rare, and part of the future of every statement.
        Box::pin(self.servers.connect()).await
    }

    async fn recycle(&self, conn: &mut PgConnection, metrics: &Metrics) -> RecycleResult<sqlx::Error> {
        if metrics.age() > MAX_AGE || self.was_lost_since(metrics.recycled.unwrap_or(metrics.created)) {
            return Err(RecycleError::message("it is too old, or was lost with another one"));
        }
        if metrics.last_used() < ASK_AFTER_IDLE && (self.servers.are_poolers() || !self.servers.clock().is_stale()) {
            return Ok(());
        }
        match timeout(ANSWER_TIMEOUT, self.servers.ask(conn)).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(_)) => self.note_loss(),
            Err(_) => self.note_silence(),
        }
        Err(RecycleError::message("it does not answer"))
    }
}
