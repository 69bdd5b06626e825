//! Dedicated connections, usually one, for a few statements that run constantly.
//!
//! PostgreSQL caches prepared statements and plans per connection, so statements that always use the same connection find them
//! cached. A pool also pings every connection that is returned to it, and here the next statement would have to wait for that.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Instant;

use sqlx::pool::PoolConnection;
use sqlx::{PgConnection, PgPool, Postgres};
use tokio::sync::{Mutex, MutexGuard};

use crate::kernel::database::PING_AFTER_IDLE;

/// As many dedicated connections as the pool has: one, whose users take turns, or one for each of a few users. Clones share them.
#[derive(Clone)]
pub struct DedicatedConnection(Arc<Inner>);

struct Inner {
    pool: PgPool,
    connections: Vec<Slot>,
}

/// A connection and the time of its last use.
type Slot = Mutex<Option<(PoolConnection<Postgres>, Instant)>>;

/// Exclusive access to the connection. [`ConnectionGuard::release`] keeps the connection for the next user. Without it, the operation failed or
/// was cancelled, and the connection goes back to the pool, which checks it before reuse.
pub struct ConnectionGuard<'a> {
    slot: MutexGuard<'a, Option<(PoolConnection<Postgres>, Instant)>>,
    connection: PoolConnection<Postgres>,
}

impl DedicatedConnection {
    /// Takes the connections from `pool`, which must have no other users. They are opened on first use.
    pub fn of(pool: PgPool) -> Self {
        let connections = (0..pool.options().get_max_connections()).map(|_| Mutex::new(None)).collect();
        Self(Arc::new(Inner { pool, connections }))
    }

    /// Takes a free connection. If there is none, waits until the first one is free, at most as long as the pool's acquire timeout.
    pub async fn acquire(&self) -> Result<ConnectionGuard<'_>, sqlx::Error> {
        let patience = self.0.pool.options().get_acquire_timeout();
        let free = self.0.connections.iter().find_map(|slot| slot.try_lock().ok());
        let mut slot = match free {
            Some(slot) => slot,
            None => tokio::time::timeout(patience, self.0.connections[0].lock()).await.map_err(|_| sqlx::Error::PoolTimedOut)?,
        };
        // A connection that has been idle for longer goes back to the pool, which pings it.
        let idle = slot.take().filter(|(_, used)| used.elapsed() < PING_AFTER_IDLE);
        let connection = match idle {
            Some((connection, _)) => connection,
            None => self.0.pool.acquire().await?,
        };
        Ok(ConnectionGuard { slot, connection })
    }
}

impl ConnectionGuard<'_> {
    /// Keeps the connection for the next user, after success.
    pub fn release(self) {
        let Self { mut slot, connection } = self;
        *slot = Some((connection, Instant::now()));
    }
}

impl Deref for ConnectionGuard<'_> {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.connection
    }
}

impl DerefMut for ConnectionGuard<'_> {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.connection
    }
}

impl fmt::Debug for DedicatedConnection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("DedicatedConnection").finish_non_exhaustive()
    }
}
