//! Postgres: connection pools, and the mapping of database errors to problems.

use std::num::NonZeroU32;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection, PgPool};

use crate::kernel::dedicated_connection::DedicatedConnection;
use crate::kernel::error_chain::chain;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::settings;

/// `[database]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// `postgres://user:password@host/database`. If unset, development starts a private server.
    #[serde(deserialize_with = "settings::optional")]
    pub url: Option<DatabaseUrl>,
    /// The maximum number of pooled connections of this instance.
    pub max_connections: NonZeroU32,
    /// How long a request waits for a connection before it gets status 503.
    #[serde(deserialize_with = "settings::time")]
    pub acquire_timeout: Duration,
}

/// A connection URL. It may contain a password, so it is never displayed.
#[derive(Clone, Debug)]
pub struct DatabaseUrl(SecretString);

impl std::str::FromStr for DatabaseUrl {
    type Err = sqlx::Error;

    fn from_str(text: &str) -> Result<Self, sqlx::Error> {
        text.parse::<PgConnectOptions>()?;
        Ok(Self(text.into()))
    }
}

impl DatabaseUrl {
    /// The connection options of the URL.
    pub fn options(&self) -> PgConnectOptions {
        self.0.expose_secret().parse().expect("the URL was validated when it was read")
    }
}

/// A connection that was used within this time is not pinged before reuse, because a ping takes as long as a statement.
pub(super) const PING_AFTER_IDLE: Duration = Duration::from_secs(1);

/// A pool that connects on first use, so that the program starts, and reports the failure, while the database is unavailable.
pub fn pool(url: &DatabaseUrl, settings: &Settings) -> PgPool {
    // `jit` is off because our statements run for about a millisecond, and compiling one of them takes three hundred.
    let options = url.options().application_name("portico").options([("timezone", "UTC"), ("jit", "off")]);
    pool_of(settings.max_connections.get()).acquire_timeout(settings.acquire_timeout).connect_lazy_with(options)
}

fn pool_of(connections: u32) -> PgPoolOptions {
    PgPoolOptions::new().max_connections(connections).test_before_acquire(false).before_acquire(|conn, used| {
        Box::pin(async move {
            if used.idle_for >= PING_AFTER_IDLE {
                conn.ping().await?;
            }
            Ok(true)
        })
    })
}

/// A separate pool of up to `connections` to the same database, for a few statements that may come in floods: they cannot use up the
/// connections of all others, and so few connections keep their plans and caches warm.
pub fn separate_pool(pool: &PgPool, connections: u32) -> PgPool {
    separate_pool_with(pool, connections, &[])
}

fn separate_pool_with(pool: &PgPool, connections: u32, options: &[(&str, &str)]) -> PgPool {
    let options = pool.connect_options().as_ref().clone().options(options.iter().copied());
    pool_of(connections).acquire_timeout(pool.options().get_acquire_timeout()).connect_lazy_with(options)
}

/// A separate pool of up to `connections` to the same database, for background work that repeats the same few statements and can
/// redo lost work.
///
/// Its commits do not wait for the disk (`synchronous_commit = off`). A server crash loses only the most recent commits, so a
/// surviving commit never lacks an earlier one. Its statements use a generic plan, because planning the larger ones takes longer
/// than running them. Sequential scans are disabled, because a plan made while a table is empty stays in use after the table has
/// grown.
pub fn background_pool(pool: &PgPool, connections: u32) -> PgPool {
    let options = [("synchronous_commit", "off"), ("plan_cache_mode", "force_generic_plan"), ("enable_seqscan", "off")];
    separate_pool_with(pool, connections, &options)
}

/// A dedicated connection to the same database, for group commits. Its statements are planned like those of [`background_pool`]:
/// the plan is the same for any group size. Unlike there, a commit waits for the disk.
pub fn dedicated_connection(pool: &PgPool) -> DedicatedConnection {
    dedicated_connections(pool, 1)
}

/// The same for several groups at a time.
pub fn dedicated_connections(pool: &PgPool, connections: u32) -> DedicatedConnection {
    DedicatedConnection::of(separate_pool_with(pool, connections, &[("plan_cache_mode", "force_generic_plan"), ("enable_seqscan", "off")]))
}

/// Whether the error means that the database is unavailable, and not that the statement is wrong.
pub fn is_unavailable(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed => true,
        sqlx::Error::WorkerCrashed | sqlx::Error::Protocol(_) => true,
        // 08: connection exceptions. 53: insufficient resources. 57P: shutting down, crashed, or starting up.
        sqlx::Error::Database(error) => {
            error.code().is_some_and(|code| code.starts_with("08") || code.starts_with("53") || code.starts_with("57P"))
        }
        _ => false,
    }
}

/// Whether a row was on its way into the default partition when a partition for it was created. A retry succeeds.
fn is_partition_new(error: &sqlx::Error) -> bool {
    // 23514: a check constraint. Those of tables have names, that of a partition has none.
    matches!(error, sqlx::Error::Database(error) if error.code().is_some_and(|code| code == "23514") && error.constraint().is_none())
}

/// The name of the unique or check constraint that a statement violated.
pub fn violated_constraint(error: &sqlx::Error) -> Option<&str> {
    error.as_database_error()?.constraint()
}

/// A database error is logged once, here, with its whole chain. Clients never see it.
impl From<sqlx::Error> for Problem {
    fn from(error: sqlx::Error) -> Self {
        if is_unavailable(&error) {
            tracing::warn!(error = chain(&error), "the database is unavailable");
            return Problem::new(ProblemCode::DatabaseUnavailable).retry_after(5);
        }
        // 40: Postgres rolled this transaction back because of a conflict with another one. A retry succeeds.
        if matches!(&error, sqlx::Error::Database(error) if error.code().is_some_and(|code| code.starts_with("40"))) {
            tracing::warn!(error = chain(&error), "a transaction was rolled back because of a conflict with another one");
            return ProblemCode::Overloaded.into();
        }
        if is_partition_new(&error) {
            tracing::warn!(error = chain(&error), "a row was refused because the partition of its day was created at the same moment");
            return ProblemCode::Overloaded.into();
        }
        tracing::error!(error = chain(&error), "a database statement failed");
        ProblemCode::Internal.into()
    }
}

/// One column of many rows, as an array for a statement that processes all of them (`unnest`).
pub fn column<'a, R, V>(rows: &'a [R], of: impl Fn(&'a R) -> V) -> Vec<V> {
    rows.iter().map(of).collect()
}
