//! The migrations of this binary, and whether a database has them.

use sqlx::Connection;
use sqlx::migrate::{MigrateError, Migrator};

use crate::kernel::database::Pool;

/// Everything in `migrations/`, embedded in the binary.
static MIGRATIONS: Migrator = sqlx::migrate!();

/// The reason why a database does not have the schema of this binary.
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
    /// A migration failed.
    #[error("the migrations could not be applied")]
    Failed(#[from] MigrateError),
    /// A database error.
    #[error("the database cannot be reached")]
    Database(#[from] sqlx::Error),
}

/// Applies all missing migrations. Returns their number.
pub async fn apply(pool: &Pool) -> Result<usize, MigrationError> {
    let missing = missing(pool).await?;
    let mut conn = pool.servers().connect().await?;
    MIGRATIONS.run(&mut conn).await?;
    conn.close().await?;
    Ok(missing)
}

/// Returns an error if migrations are missing.
pub async fn must_be_applied(pool: &Pool) -> Result<(), MigrationError> {
    match missing(pool).await? {
        0 => Ok(()),
        missing => Err(MigrationError::Missing(missing)),
    }
}

/// The number of migrations that have not been applied to the database.
async fn missing(pool: &Pool) -> Result<usize, MigrationError> {
    let known = sqlx::query_scalar!(r#"select to_regclass('_sqlx_migrations') is not null as "known!""#).fetch_one(pool).await?;
    let applied: Vec<i64> = match known {
        // The migrator creates this table itself, so it does not exist when the checked queries are compiled.
        true => sqlx::query_scalar("select version from _sqlx_migrations where success").fetch_all(pool).await?,
        false => Vec::new(),
    };
    let first = MIGRATIONS.iter().map(|migration| migration.version).min();
    if applied.iter().any(|version| Some(*version) < first) {
        return Err(MigrationError::BeforeFirstEdition);
    }
    Ok(MIGRATIONS.iter().filter(|migration| !applied.contains(&migration.version)).count())
}
