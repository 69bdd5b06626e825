//! Postgres: the pool, the migrations, and what a database that does not answer means for a request.

use std::num::NonZeroU32;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use sqlx::migrate::Migrator;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection, PgPool};

use crate::kernel::kept_connection::KeptConnection;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::settings;
use crate::kernel::telemetry::chain;

/// Everything in `migrations/`, in the program.
pub static MIGRATIONS: Migrator = sqlx::migrate!();

/// `[database]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// `postgres://user:password@host/database`. Unset in development: a private server is started.
    #[serde(deserialize_with = "settings::optional")]
    pub url: Option<DatabaseUrl>,
    /// Connections this instance opens at most.
    pub max_connections: NonZeroU32,
    /// How long a request waits for a connection before it is answered 503.
    #[serde(deserialize_with = "settings::time")]
    pub acquire_timeout: Duration,
}

/// A connection URL; it may hold a password, so it is never shown.
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
    /// The options the URL stands for.
    pub fn options(&self) -> PgConnectOptions {
        self.0.expose_secret().parse().expect("the URL was parsed when it was read")
    }
}

/// A connection is not asked again whether it is one before this has passed: asking takes as long as a statement.
pub(super) const SURE_FOR: Duration = Duration::from_secs(1);

/// A pool that connects when it is first used, so that the program starts, and says so, while the database is away.
pub fn pool(url: &DatabaseUrl, settings: &Settings) -> PgPool {
    // Our statements run for a millisecond; compiling one of them takes three hundred.
    let options = url.options().application_name("portico").options([("timezone", "UTC"), ("jit", "off")]);
    pool_of(settings.max_connections.get()).acquire_timeout(settings.acquire_timeout).connect_lazy_with(options)
}

fn pool_of(connections: u32) -> PgPoolOptions {
    PgPoolOptions::new().max_connections(connections).test_before_acquire(false).before_acquire(|conn, used| {
        Box::pin(async move {
            if used.idle_for >= SURE_FOR {
                conn.ping().await?;
            }
            Ok(true)
        })
    })
}

/// Up to `connections` more to the same database, for work in the background that runs the same few statements over and over, and does
/// again what was lost.
///
/// Its commits do not wait for the disk: what a crash of the server loses of them is the very end, so nothing is there without what came
/// before it. Its statements are planned once, because planning the larger ones takes longer than running them; and planned to use
/// indexes, because a plan made while a table is empty goes on when it is not.
pub fn background_pool(pool: &PgPool, connections: u32) -> PgPool {
    let options = [("synchronous_commit", "off"), ("plan_cache_mode", "force_generic_plan"), ("enable_seqscan", "off")];
    let options = pool.connect_options().as_ref().clone().options(options);
    pool_of(connections).acquire_timeout(pool.options().get_acquire_timeout()).connect_lazy_with(options)
}

/// One more connection to the same database, for what is written group by group. Its statements are planned as those of
/// [`background_pool`] are: however large the group, the plan is the same. Unlike there, a commit waits for the disk.
pub fn kept_connection(pool: &PgPool) -> KeptConnection {
    let options = [("plan_cache_mode", "force_generic_plan"), ("enable_seqscan", "off")];
    let options = pool.connect_options().as_ref().clone().options(options);
    KeptConnection::of(pool_of(1).acquire_timeout(pool.options().get_acquire_timeout()).connect_lazy_with(options))
}

/// Whether the fault is the database being away, rather than what was asked of it.
pub fn is_unavailable(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed => true,
        sqlx::Error::WorkerCrashed | sqlx::Error::Protocol(_) => true,
        // 08: connection exceptions; 53: out of resources; 57P: shut down, crashed, or starting up.
        sqlx::Error::Database(error) => {
            error.code().is_some_and(|code| code.starts_with("08") || code.starts_with("53") || code.starts_with("57P"))
        }
        _ => false,
    }
}

/// The name of the unique or check constraint that refused a statement.
pub fn violated_constraint(error: &sqlx::Error) -> Option<&str> {
    error.as_database_error()?.constraint()
}

/// A database fault stops here: logged once with its whole chain, never shown to a client.
impl From<sqlx::Error> for Problem {
    fn from(error: sqlx::Error) -> Self {
        if is_unavailable(&error) {
            tracing::warn!(error = chain(&error), "the database does not answer");
            return Problem::new(ProblemCode::DatabaseUnavailable).retry_after(5);
        }
        // 40: Postgres gave this transaction up for another one that stood in its way; asked again, it goes through.
        if matches!(&error, sqlx::Error::Database(error) if error.code().is_some_and(|code| code.starts_with("40"))) {
            tracing::warn!(error = chain(&error), "two transactions stood in each other's way");
            return ProblemCode::Overloaded.into();
        }
        tracing::error!(error = chain(&error), "a statement failed");
        ProblemCode::Internal.into()
    }
}

/// A column of many rows, as a statement takes it that handles all of them at once (`unnest`).
pub fn column<'a, R, V>(rows: &'a [R], of: impl Fn(&'a R) -> V) -> Vec<V> {
    rows.iter().map(of).collect()
}

/// How many migrations of this program the database has not had.
pub async fn missing_migrations(pool: &PgPool) -> Result<usize, sqlx::Error> {
    let known = sqlx::query_scalar!(r#"select to_regclass('_sqlx_migrations') is not null as "known!""#).fetch_one(pool).await?;
    let applied: Vec<i64> = match known {
        // The table is the migrator's own: it is not there when the checked queries are.
        true => sqlx::query_scalar("select version from _sqlx_migrations where success").fetch_all(pool).await?,
        false => Vec::new(),
    };
    Ok(MIGRATIONS.iter().filter(|migration| !applied.contains(&migration.version)).count())
}
