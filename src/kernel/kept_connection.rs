//! A connection that is kept, for a few statements that run one after the other all the time.
//!
//! PostgreSQL keeps what it knows of a statement for each connection by itself, so statements that always take the same one find it at
//! hand. And a pool asks every connection that comes back whether it still lives, which here the next statement would have to wait for.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Instant;

use sqlx::pool::PoolConnection;
use sqlx::{PgConnection, PgPool, Postgres};
use tokio::sync::{Mutex, MutexGuard};

use crate::kernel::database::SURE_FOR;

/// One connection, which its users have in turn. Clones share it.
#[derive(Clone)]
pub struct KeptConnection(Arc<Kept>);

struct Kept {
    pool: PgPool,
    /// The connection, and when it was last used.
    connection: Mutex<Option<(PoolConnection<Postgres>, Instant)>>,
}

/// The connection, for whoever has it now. It is kept when they say so ([`InUse::keep`]); otherwise something went wrong, or was given up
/// half-way, and the pool looks at the connection before anybody uses it again.
pub struct InUse<'a> {
    slot: MutexGuard<'a, Option<(PoolConnection<Postgres>, Instant)>>,
    connection: PoolConnection<Postgres>,
}

impl KeptConnection {
    /// Keeps a connection of `pool`, which is there for nobody else. It is opened when it is first used.
    pub fn of(pool: PgPool) -> Self {
        Self(Arc::new(Kept { pool, connection: Mutex::new(None) }))
    }

    /// Waits until nobody else uses the connection, no longer than the pool would.
    pub async fn acquire(&self) -> Result<InUse<'_>, sqlx::Error> {
        let patience = self.0.pool.options().get_acquire_timeout();
        let mut slot = tokio::time::timeout(patience, self.0.connection.lock()).await.map_err(|_| sqlx::Error::PoolTimedOut)?;
        // One that nobody has used for longer goes back to the pool, which asks it.
        let kept = slot.take().filter(|(_, used)| used.elapsed() < SURE_FOR);
        let connection = match kept {
            Some((connection, _)) => connection,
            None => self.0.pool.acquire().await?,
        };
        Ok(InUse { slot, connection })
    }
}

impl InUse<'_> {
    /// All went well: the next one may have the connection as it is.
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
