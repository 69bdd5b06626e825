//! Postgres: connections on which nothing lasts for ever, their pools, and the mapping of database errors to problems.

mod cell_name;
mod connection;
mod connector;
mod copying;
mod libpq;
mod looked_at;
mod metrics;
mod notifications;
mod pool;
pub mod programs;
mod repeated;
mod replica;
mod servers;
mod session;
mod settings;
mod statement_name;
mod transaction;

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

pub use crate::kernel::database::cell_name::CellName;
pub use crate::kernel::database::connection::Connection;
pub use crate::kernel::database::copying::Copied;
pub use crate::kernel::database::metrics::Metrics;
pub use crate::kernel::database::notifications::Notifications;
use crate::kernel::database::pool::Companions;
pub use crate::kernel::database::pool::{Limits, Pool};
pub use crate::kernel::database::repeated::{MayBeConflict, repeated};
pub use crate::kernel::database::replica::{Comparison, Replica, Standing, register as register_replica};
pub use crate::kernel::database::servers::Servers;
pub use crate::kernel::database::settings::{CellSettings, Settings};
pub use crate::kernel::database::statement_name::statement_name;
pub use crate::kernel::database::transaction::Transaction;
use crate::kernel::error_chain::chain;
use crate::kernel::problem::{Problem, ProblemCode};

/// A connection URL. It may contain a password, so it is never displayed.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(try_from = "String")]
pub struct DatabaseUrl(SecretString);

impl TryFrom<String> for DatabaseUrl {
    type Error = sqlx::Error;

    fn try_from(text: String) -> Result<Self, sqlx::Error> {
        text.parse()
    }
}

impl std::str::FromStr for DatabaseUrl {
    type Err = sqlx::Error;

    fn from_str(text: &str) -> Result<Self, sqlx::Error> {
        text.parse::<Servers>()?;
        Ok(Self(text.into()))
    }
}

impl DatabaseUrl {
    /// The servers that the URL names.
    pub fn servers(&self) -> Servers {
        self.0.expose_secret().parse().expect("the URL was validated when it was read")
    }
}

/// The connections of the owner of the tables: for housekeeping, for vacuuming, and for the indexes of declared extensions.
const OWNERS_CONNECTIONS: u32 = 3;
/// The connections past a pooler: for statements that may take long, and for the owner's work if the settings name no other owner.
const DIRECT_CONNECTIONS: u32 = 5;
/// The time of a statement of background work.
pub const BACKGROUND_STATEMENT_TIMEOUT: Duration = Duration::from_secs(15);
/// After so long between two statements of a transaction, the server rolls it back: its client has vanished. Until then its locks are
/// held, and every event stream waits for it.
const MAX_IDLE_IN_TRANSACTION: Duration = Duration::from_secs(5);

/// What the server is told about each session.
fn session_settings(statement_timeout: Duration) -> [(&'static str, String); 9] {
    let seconds = |time: Duration| format!("{}ms", time.as_millis());
    [
        ("timezone", "UTC".to_owned()),
        // Our statements run for about a millisecond, and compiling one of them takes three hundred.
        ("jit", "off".to_owned()),
        ("statement_timeout", seconds(statement_timeout)),
        ("idle_in_transaction_session_timeout", seconds(MAX_IDLE_IN_TRANSACTION)),
        // A statement whose client has dropped the connection ends.
        ("client_connection_check_interval", "1s".to_owned()),
        // A client whose machine or network is gone is noticed within eight seconds.
        ("tcp_keepalives_idle", "5".to_owned()),
        ("tcp_keepalives_interval", "1".to_owned()),
        ("tcp_keepalives_count", "3".to_owned()),
        ("tcp_user_timeout", "8s".to_owned()),
    ]
}

/// The pool of requests.
pub fn pool(url: &DatabaseUrl, settings: &Settings) -> Pool {
    let limits = Limits {
        connections: settings.max_connections.get(),
        acquire_timeout: settings.acquire_timeout,
        statement_timeout: settings.statement_timeout,
    };
    let (servers, metrics) = (url.servers().application_name("portico"), Metrics::new());
    let beside = |name, servers, limits| Pool::named(name, servers, limits, metrics.clone(), Companions::default());
    let owner = settings.owner_url.as_ref().map(|owner| {
        let of_owner = Limits { connections: OWNERS_CONNECTIONS, statement_timeout: BACKGROUND_STATEMENT_TIMEOUT, ..limits };
        beside("owner", owner.servers().application_name("portico owner"), of_owner)
    });
    let by_pooler = settings.pooler_url.as_ref().map(|pooler| servers.by_way_of(pooler.servers().application_name("portico")));
    let few = Limits { connections: DIRECT_CONNECTIONS, ..limits };
    let direct = by_pooler.is_some().then(|| beside("direct", servers.clone(), few));
    let pool = Pool::named("requests", by_pooler.unwrap_or(servers), limits, metrics.clone(), Companions { owner, direct });
    match &settings.replica_url {
        None => pool,
        Some(url) => {
            let replica = Replica::of(&pool, url.servers().standbys().application_name("portico lists"), settings.replica_max_lag);
            pool.reading_from(replica)
        }
    }
}

/// A separate pool of up to `connections` to the same database, for a few statements that may come in floods: they cannot use up the
/// connections of all others, and so few connections keep their plans and caches warm. They are planned like those of a [`group_pool`]:
/// PostgreSQL would plan most of them anew each time, because their parameters may be null or arrays.
pub fn separate_pool(pool: &Pool, name: &'static str, connections: u32) -> Pool {
    pool.beside(name, pool.servers().with(GENERIC_PLANS), Limits { connections, ..pool.limits() })
}

/// A separate pool of up to `connections` to the same database, for group commits: `connections` groups are written at a time. Its
/// statements are planned like those of [`background_pool`]: the plan is the same for any group size. Unlike there, a commit waits for
/// the disk.
pub fn group_pool(pool: &Pool, name: &'static str, connections: u32) -> Pool {
    pool.beside(name, pool.servers().with(GENERIC_PLANS), Limits { connections, ..pool.limits() })
}

/// A generic plan, because planning the larger statements takes longer than running them; no sequential scans, because a plan made while
/// a table is empty stays in use after the table has grown.
const GENERIC_PLANS: [(&str, &str); 2] = [("plan_cache_mode", "force_generic_plan"), ("enable_seqscan", "off")];

/// A separate pool of up to `connections` to the same database, for background work that repeats the same few statements and can
/// redo lost work.
///
/// Its commits do not wait for the disk (`synchronous_commit = off`). A server crash loses only the most recent commits, so a
/// surviving commit never lacks an earlier one.
pub fn background_pool(pool: &Pool, name: &'static str, connections: u32) -> Pool {
    hasty_pool(pool, name, connections, BACKGROUND_STATEMENT_TIMEOUT)
}

/// One connection for the statements that move deliveries, which are as hasty as those of a [`background_pool`] and soon given up. The
/// server has them prepared on this connection, and their plans cached.
pub fn delivery_pool(pool: &Pool) -> Pool {
    hasty_pool(pool, "deliveries", 1, pool.limits().statement_timeout)
}

/// One connection for figures about the database, of which nothing may take longer than `limit`. Its statements are planned like those of a
/// [`background_pool`].
pub fn figures_pool(pool: &Pool, limit: Duration) -> Pool {
    pool.beside("figures", pool.servers().with(GENERIC_PLANS), Limits { connections: 1, acquire_timeout: limit, statement_timeout: limit })
}

fn hasty_pool(pool: &Pool, name: &'static str, connections: u32, statement_timeout: Duration) -> Pool {
    let servers = pool.servers().with(GENERIC_PLANS).with([("synchronous_commit", "off")]);
    pool.beside(name, servers, Limits { connections, statement_timeout, ..pool.limits() })
}

/// Whether the error means that the database is unavailable, and not that the statement is wrong.
pub fn is_unavailable(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed => true,
        sqlx::Error::WorkerCrashed | sqlx::Error::Protocol(_) => true,
        // 08: connection exceptions. 53: insufficient resources. 57P: shutting down, crashed, or starting up. 25006: it has become a
        // standby. 25P03: the server has ended the session, because its transaction was idle for too long.
        sqlx::Error::Database(error) => {
            error.code().is_some_and(|code| ["08", "53", "57P", "25006", "25P03"].iter().any(|unavailable| code.starts_with(unavailable)))
        }
        _ => false,
    }
}

/// Whether the role may not do what the statement does.
pub fn is_forbidden(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::Database(error) if error.code().is_some_and(|code| code == "42501"))
}

/// Whether the server could not write because its disk is full.
pub fn is_disk_full(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::Database(error) if error.code().is_some_and(|code| code == "53100"))
}

/// Whether the server does not know what the statement asks for, or refuses it to everybody: other servers may speak PostgreSQL without all of
/// its commands and statistics.
pub fn is_unsupported(error: &sqlx::Error) -> bool {
    // 0A: not supported. 42: wrong syntax, or no such function, table or column.
    matches!(error, sqlx::Error::Database(error) if error.code().is_some_and(|code| code.starts_with("0A") || code.starts_with("42")))
}

/// Whether the statement was ended because it took longer than its time. The connection can be used again.
pub fn took_too_long(error: &sqlx::Error) -> bool {
    // 57014: cancelled, which nobody but the server's own clock does here.
    matches!(error, sqlx::Error::Database(error) if error.code().is_some_and(|code| code == "57014"))
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
        if error.is_conflict() {
            tracing::warn!(error = chain(&error), "a transaction was rolled back because of a conflict with another one");
            return Problem::new(ProblemCode::Overloaded).of_conflict();
        }
        // 40: rolled back, or it is not known whether it was.
        if matches!(&error, sqlx::Error::Database(error) if error.code().is_some_and(|code| code.starts_with("40"))) {
            tracing::warn!(error = chain(&error), "a transaction did not end as it should");
            return ProblemCode::Overloaded.into();
        }
        if took_too_long(&error) {
            tracing::warn!(error = chain(&error), "a database statement took longer than database.statement_timeout");
            return Problem::new(ProblemCode::Overloaded).retry_after(5);
        }
        tracing::error!(error = chain(&error), "a database statement failed");
        ProblemCode::Internal.into()
    }
}

/// The version of the server.
pub async fn server_version(pool: &Pool) -> Result<String, sqlx::Error> {
    sqlx::query_scalar!(r#"select current_setting('server_version') as "version!""#).fetch_one(pool).await
}

/// Whether the pooler of the pool leads to the same schema of the same database with the same role; `None` without one.
///
/// # Errors
/// One of the two does not answer.
pub async fn pooler_leads_there(pool: &Pool) -> Result<Option<bool>, sqlx::Error> {
    let there = async |pool: &Pool| {
        let told = sqlx::query_scalar!(
            r#"select concat_ws(' ', current_user, current_database(), current_schema(), pg_postmaster_start_time()) as "there!""#
        );
        told.fetch_one(pool).await
    };
    match pool.is_pooled() {
        true => Ok(Some(there(pool).await? == there(pool.direct()).await?)),
        false => Ok(None),
    }
}

/// The size of the database on its disk, in bytes.
pub async fn database_size(pool: &Pool) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(r#"select pg_database_size(current_database()) as "size!""#).fetch_one(pool).await
}

/// One column of many rows, as an array for a statement that processes all of them (`unnest`).
pub fn column<'a, R, V>(rows: &'a [R], of: impl Fn(&'a R) -> V) -> Vec<V> {
    rows.iter().map(of).collect()
}
