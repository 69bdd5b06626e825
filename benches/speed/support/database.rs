//! The service's database, for preparing data and reading results.

use std::time::Duration;

use portico::kernel::database::{Connection, Limits, Pool};
use sqlx::{AssertSqlSafe, Decode, Executor, Postgres, Type};
use tokio::runtime::Runtime;

use super::service::Service;

/// A blocking connection.
pub struct Database {
    runtime: Runtime,
    connection: Connection,
}

impl Database {
    pub fn of(service: &Service) -> Self {
        Self::at(&service.database_url())
    }

    pub fn at(url: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        // Millions of rows are inserted by one statement.
        let hour = Duration::from_secs(60 * 60);
        let pool = Pool::new(url.parse().unwrap(), Limits { connections: 1, acquire_timeout: hour, statement_timeout: hour });
        let connection = runtime.block_on(pool.acquire()).unwrap();
        Self { runtime, connection }
    }

    /// Runs statements.
    pub fn execute(&mut self, sql: &str) {
        let Self { runtime, connection } = self;
        runtime.block_on(connection.execute(sqlx::raw_sql(AssertSqlSafe(sql.to_owned())))).unwrap();
    }

    /// The first column of every row.
    pub fn column<T>(&mut self, sql: &str) -> Vec<T>
    where
        T: for<'r> Decode<'r, Postgres> + Type<Postgres> + Send + Unpin,
    {
        let Self { runtime, connection } = self;
        runtime.block_on(sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).fetch_all(&mut *connection)).unwrap()
    }

    /// A count or a size.
    pub fn number(&mut self, sql: &str) -> i64 {
        self.column(sql)[0]
    }

    /// The bytes of write-ahead log that the server has written so far.
    pub fn wal(&mut self) -> i64 {
        self.number("select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint")
    }

    /// Runs an operation of the service on the connection.
    pub fn with<T>(&mut self, work: impl AsyncFnOnce(&mut Connection) -> T) -> T {
        let Self { runtime, connection } = self;
        runtime.block_on(work(connection))
    }
}
