//! A dedicated connection for a few statements that run constantly, one after the other.
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

use crate::kernel::database::SURE_FOR;

/// A dedicated connection whose users take turns. Clones share it.
#[derive(Clone)]
pub struct KeptConnection(Arc<Kept>);

struct Kept {
    pool: PgPool,
    /// The connection and the time of its last use.
    connection: Mutex<Option<(PoolConnection<Postgres>, Instant)>>,
}

/// Exclusive access to the connection. [`InUse::keep`] keeps the connection for the next user. Without it, the operation failed or
/// was cancelled, and the connection goes back to the pool, which checks it before reuse.
pub struct InUse<'a> {
    slot: MutexGuard<'a, Option<(PoolConnection<Postgres>, Instant)>>,
    connection: PoolConnection<Postgres>,
}

impl KeptConnection {
    /// Takes a connection from `pool`, which must have no other users. It is opened on first use.
    pub fn of(pool: PgPool) -> Self {
        Self(Arc::new(Kept { pool, connection: Mutex::new(None) }))
    }

    /// Waits until the connection is free, at most as long as the pool's acquire timeout.
    pub async fn acquire(&self) -> Result<InUse<'_>, sqlx::Error> {
        let patience = self.0.pool.options().get_acquire_timeout();
        let mut slot = tokio::time::timeout(patience, self.0.connection.lock()).await.map_err(|_| sqlx::Error::PoolTimedOut)?;
        // A connection that has been idle for longer goes back to the pool, which pings it.
        let kept = slot.take().filter(|(_, used)| used.elapsed() < SURE_FOR);
        let connection = match kept {
            Some((connection, _)) => connection,
            None => self.0.pool.acquire().await?,
        };
        Ok(InUse { slot, connection })
    }
}

impl InUse<'_> {
    /// Keeps the connection for the next user, after success.
    pub fn keep(self) {
        let Self { mut slot, connection } = self;
        *slot = Some((connection, Instant::now()));
    }
}

impl Deref for InUse<'_> {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.connection
    }
}

impl DerefMut for InUse<'_> {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.connection
    }
}

impl fmt::Debug for KeptConnection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("KeptConnection").finish_non_exhaustive()
    }
}
