//! The migrations of this binary, and whether a database suits it.
//!
//! A database may be ahead of a binary: during a rolling upgrade the instances of the version before go on working with the schema of the
//! next one. The table `schema_compatibility` says which binaries can.

pub mod rights;
mod text_indexes;

use std::sync::LazyLock;

use sqlx::migrate::{MigrateError, Migrator};
use sqlx::{Connection, PgConnection};

use crate::kernel::database::{Pool, is_forbidden, is_unavailable};
use crate::kernel::leases::Lease;

/// Everything in `migrations/`, embedded in the binary.
static MIGRATIONS: LazyLock<Migrator> = LazyLock::new(|| {
    let mut migrations = sqlx::migrate!();
    // Migrations that this binary does not know are judged by `schema_compatibility`. Who waits for the migrator's own lock has a
    // statement open, which an index that is created concurrently would wait for in turn.
    migrations.set_ignore_missing(true).set_locking(false);
    migrations
});

/// The reason why a database does not have a schema that this binary can work with.
#[derive(Debug, thiserror::Error)]
pub enum MigrationError {
    /// The number of migrations that have not been applied.
    #[error("the database lacks {0} migrations of this version: run portico migrate")]
    Missing(usize),
    /// The database has migrations that are older than the oldest one of this binary.
    #[error(
        "the database was created before the first edition of the schema, from which no migration leads to this version: \
         configure an empty database (this one was not changed)"
    )]
    BeforeFirstEdition,
    /// The database has migrations that take away what this binary uses: the migration that it would have to know.
    #[error(
        "the database has been migrated beyond what this version of Portico can work with: \
         run a version that knows migration {0} (the database was not changed)"
    )]
    Beyond(i64),
    /// A migration failed.
    #[error("the migrations could not be applied")]
    Failed(#[from] MigrateError),
    /// The role of the service may not even read which migrations there are.
    #[error(
        "the role of database.url has no right to the tables: run portico migrate, which grants it, with the role that owns them in \
         database.owner_url"
    )]
    NoRight,
    /// The rights of the service's role could not be granted.
    #[error("the role of database.url could not be given its rights")]
    Rights(#[source] sqlx::Error),
    /// A database error.
    #[error("the database cannot be reached")]
    Database(#[source] sqlx::Error),
}

impl From<sqlx::Error> for MigrationError {
    fn from(error: sqlx::Error) -> Self {
        if is_forbidden(&error) { Self::NoRight } else { Self::Database(error) }
    }
}

impl MigrationError {
    /// Whether the database is away, and may be in order when it is back.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Database(error)
            | Self::Rights(error)
            | Self::Failed(MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _)) => is_unavailable(error),
            _ => false,
        }
    }
}

/// How the migrations of a database and those of this binary differ.
#[derive(Clone, Copy, Debug)]
pub struct Difference {
    /// The number of those that have not been applied.
    pub missing: usize,
    /// The number of those that a newer version has applied.
    pub newer: usize,
}

/// Applies all missing migrations, and gives the role of the service its rights if another one owns the tables. A database that is ahead of
/// this binary, and that it can work with, is left as it is.
pub async fn apply(pool: &Pool) -> Result<Difference, MigrationError> {
    let difference = difference(pool.owner()).await?;
    if difference.missing > 0 {
        alone(pool).await?.during(migrate(pool)).await?;
    }
    if difference.newer == 0 {
        grant(pool).await?;
    }
    Ok(difference)
}

async fn migrate(pool: &Pool) -> Result<(), MigrationError> {
    let mut conn = connect(pool).await?;
    if let Some(role) = pool.guest() {
        rights::grant_beforehand(&mut conn, role).await.map_err(MigrationError::Rights)?;
    }
    text_indexes::make(&mut conn).await.map_err(MigrationError::Database)?;
    // `run` is the same, but its future cannot be spawned.
    MIGRATIONS.run_direct(None, &mut conn, false).await?;
    text_indexes::make(&mut conn).await.map_err(MigrationError::Database)?;
    Ok(conn.close().await?)
}

/// Gives the role of the service exactly its rights, if another one owns the tables and something is amiss.
pub async fn grant(pool: &Pool) -> Result<(), MigrationError> {
    let Some(role) = pool.guest() else { return Ok(()) };
    if rights::find_power(pool.owner(), role).await.map_err(MigrationError::Rights)?.is_some_and(|power| power.acts_as_owner) {
        tracing::warn!(role, "the role of database.url may do all that the owner of the tables may: see portico doctor");
        return Ok(());
    }
    if rights::list_amiss(pool.owner(), role).await.map_err(MigrationError::Rights)?.is_empty() {
        return Ok(());
    }
    let grant = async {
        let mut conn = connect(pool).await?;
        rights::grant(&mut conn, role).await.map_err(MigrationError::Rights)?;
        Ok(conn.close().await?)
    };
    alone(pool).await?.during(grant).await
}

/// Waits until nobody else migrates. Instances of the version before wait for each other by a lock that this one does not see. If both
/// migrate, each migration is nevertheless applied once: the second to insert it into `_sqlx_migrations` fails.
async fn alone(pool: &Pool) -> Result<Lease, MigrationError> {
    let alone = async {
        Lease::make_table(pool.owner()).await?;
        Lease::wait(pool.owner(), "migrating").await
    };
    alone.await.map_err(MigrationError::Database)
}

/// A connection of the owner of the tables. If this program ends, so does the statement.
async fn connect(pool: &Pool) -> Result<PgConnection, MigrationError> {
    let servers = pool.owner().servers().with([("client_connection_check_interval", "1s")]);
    servers.connect().await.map_err(MigrationError::Database)
}

/// Returns an error if migrations are missing, or if the database has been migrated beyond what this binary can work with.
pub async fn must_be_applied(pool: &Pool) -> Result<(), MigrationError> {
    match difference(pool).await?.missing {
        0 => Ok(()),
        missing => Err(MigrationError::Missing(missing)),
    }
}

/// Compares the migrations of the database with those of this binary.
pub async fn difference(pool: &Pool) -> Result<Difference, MigrationError> {
    let (applied, own) = (applied(pool).await?, known());
    let (first, last) = (own.iter().copied().min(), own.iter().copied().max());
    if applied.iter().any(|version| Some(*version) < first) {
        return Err(MigrationError::BeforeFirstEdition);
    }
    let newer = applied.iter().filter(|version| Some(**version) > last).count();
    if newer > 0 {
        // Whoever has applied a newer migration than this binary knows has applied the one that creates this table.
        let at_least = sqlx::query_scalar!("select at_least from schema_compatibility").fetch_one(pool).await?;
        if Some(at_least) > last {
            return Err(MigrationError::Beyond(at_least));
        }
    }
    Ok(Difference { missing: own.iter().filter(|version| !applied.contains(version)).count(), newer })
}

/// The migrations that this binary knows.
pub fn known() -> Vec<i64> {
    MIGRATIONS.iter().map(|migration| migration.version).collect()
}

/// The migrations that the database has, in their order.
pub async fn applied(pool: &Pool) -> Result<Vec<i64>, sqlx::Error> {
    let any = sqlx::query_scalar!(r#"select to_regclass('_sqlx_migrations') is not null as "known!""#).fetch_one(pool).await?;
    match any {
        // The migrator creates this table itself, so it does not exist when the checked queries are compiled.
        true => sqlx::query_scalar("select version from _sqlx_migrations where success order by version").fetch_all(pool).await,
        false => Ok(Vec::new()),
    }
}
