//! Vacuuming the queue: removes what has left it, so that searches do not read it.
//!
//! Rows go through `outbox`, `waiting` and `in_flight` within moments. The index entries of those that are gone lie where every
//! search begins, until a vacuum removes them. Autovacuum looks for work once a minute by default; after a minute of 50,000 events
//! per second, three million such entries would slow down each fan-out.

use std::time::Duration;

use chrono::TimeDelta;
use sqlx::{AssertSqlSafe, Executor};
use tokio_util::sync::CancellationToken;

use crate::kernel::database::{Connection, is_unsupported};
use crate::kernel::error_chain::chain;
use crate::kernel::lifecycle::Lifecycle;
use crate::webhooks::Webhooks;

/// How often the worker looks for tables to vacuum.
const VACUUM_INTERVAL: Duration = Duration::from_secs(5);
/// Rows that a transaction may still see are not removed. While one of this database has been open for longer than this, the tables wait for
/// autovacuum. Those of other databases of the server see none of the rows.
const LONG_TRANSACTION: TimeDelta = TimeDelta::seconds(5);
/// A table is vacuumed when at least this many of its rows are dead, and a fifth as many as are alive.
const MIN_DEAD_ROWS: i64 = 20_000;

impl Webhooks {
    /// Vacuums the tables of the queue that many rows have left. It locks nothing that other statements wait for, and skips a table
    /// that is being vacuumed already. Returns whether the server can: one that keeps no such statistics or has no such command cleans up by
    /// itself.
    pub async fn vacuum_queue(&self) -> Result<bool, sqlx::Error> {
        match self.try_vacuum().await {
            Err(error) if is_unsupported(&error) => {
                tracing::info!(error = chain(&error), "the database does not vacuum when it is asked to, so it is left to itself");
                Ok(false)
            }
            done => done.map(|()| true),
        }
    }

    async fn try_vacuum(&self) -> Result<(), sqlx::Error> {
        let tables = tables_to_vacuum(&mut self.worker_pool.acquire().await?).await?;
        for table in tables {
            let mut conn = self.worker_pool.owner().acquire_patient().await?;
            conn.execute(AssertSqlSafe(format!("vacuum (skip_locked, truncate off) {table}"))).await?;
        }
        Ok(())
    }
}

async fn tables_to_vacuum(conn: &mut Connection) -> Result<Vec<String>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select relname::text as "name!" from pg_stat_user_tables
           where relid in ('outbox'::regclass, 'waiting'::regclass, 'in_flight'::regclass) and n_dead_tup >= greatest($1, n_live_tup / 5)
           and not exists (
               select from pg_stat_activity
               where datname = current_database() and backend_type = 'client backend' and backend_xmin is not null
               and xact_start < now() - $2::interval
           )
           order by relname"#,
        MIN_DEAD_ROWS,
        LONG_TRANSACTION as TimeDelta,
    )
    .fetch_all(conn)
    .await
}

/// Vacuums the queue whenever many rows have left it, on a server that can; shutdown does not wait for it.
pub async fn run(webhooks: Webhooks, lifecycle: Lifecycle) {
    let refused = CancellationToken::new();
    let vacuum = async || {
        if lifecycle.stopping().run_until_cancelled(webhooks.vacuum_queue()).await.transpose()? == Some(false) {
            refused.cancel();
        }
        Ok::<_, sqlx::Error>(())
    };
    refused.run_until_cancelled(lifecycle.every(VACUUM_INTERVAL, "vacuuming the queue failed", vacuum)).await;
}
