//! Indexes that a migration makes, made before it and without blocking anybody.
//!
//! An index is created `concurrently` only as a statement of its own. A migration that has to do without the index where an extension is
//! missing needs a block, in which the table cannot be written while the index is made. It says `if not exists`; and where the table is
//! there already, this is made first, so the migration finds it. What was interrupted is made again.

use sqlx::{AssertSqlSafe, Executor, PgConnection};

/// The extension that all of them need.
const EXTENSION: &str = "create extension if not exists pg_trgm";

struct Index {
    name: &'static str,
    table: &'static str,
    /// What follows the name of the table.
    definition: &'static str,
}

/// Those of `20261126121500_search_indexes.sql`.
const INDEXES: [Index; 2] = [
    Index {
        name: "customers_by_text",
        table: "customers",
        definition: "using gin (name gin_trgm_ops, email gin_trgm_ops, phone gin_trgm_ops)",
    },
    Index { name: "payments_by_text", table: "payments", definition: "using gin (transaction_id gin_trgm_ops) where deleted_at is null" },
];

/// Makes those whose tables are there and that are missing, or were not completed. A session that makes one waits for transactions that
/// are open, but nobody waits for it.
pub async fn make_indexes(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    for Index { name, table, definition } in INDEXES {
        if !exists(conn, table).await? || is_complete(conn, name).await? {
            continue;
        }
        match conn.execute(EXTENSION).await {
            Ok(_) => {}
            // Then the migration does without, and says so.
            Err(sqlx::Error::Database(_)) => return Ok(()),
            Err(error) => return Err(error),
        }
        conn.execute(AssertSqlSafe(format!("drop index concurrently if exists {name}"))).await?;
        conn.execute(AssertSqlSafe(format!("create index concurrently {name} on {table} {definition}"))).await?;
    }
    Ok(())
}

async fn exists(conn: &mut PgConnection, relation: &str) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar("select to_regclass($1) is not null").bind(relation).fetch_one(conn).await
}

async fn is_complete(conn: &mut PgConnection, index: &str) -> Result<bool, sqlx::Error> {
    let is_valid = "select exists (select from pg_index where indexrelid = to_regclass($1) and indisvalid)";
    sqlx::query_scalar(is_valid).bind(index).fetch_one(conn).await
}
