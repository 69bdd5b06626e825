//! Indexes of trigrams, with which texts are searched, made without blocking anybody.
//!
//! Migrations make them, in a block that does without where the extension `pg_trgm` cannot be had. In such a block a table cannot be written
//! while its index is made. So where the table is there already, this makes it before: an index is created `concurrently` only as a statement of
//! its own. What was interrupted is made again.
//!
//! A database has the extension once, for all of its schemas, and the migrations find it in their own schema or in `public` alone. For a
//! deployment in another schema it is in a schema of its own, and this makes the indexes after the migrations.
//!
//! Texts are folded by a function of the database. A migration makes it, and afterwards the indexes are made again with it. Until one is
//! complete, the one before stays.

use sqlx::{AssertSqlSafe, Executor, PgConnection};

/// What a text is searched by, once the database has it.
const FOLDED: &str = "folded";

struct Index {
    name: &'static str,
    table: &'static str,
    columns: &'static [&'static str],
    /// What follows the columns.
    condition: &'static str,
}

const OF_RECORDS: &str = "where deleted_at is null";

const INDEXES: [Index; 3] = [
    Index {
        name: "orders_by_text",
        table: "orders",
        columns: &["internal_id", "tracking_number", "pickup", "dropoff", "notes"],
        condition: OF_RECORDS,
    },
    Index { name: "customers_by_text", table: "customers", columns: &["name", "email", "phone"], condition: "" },
    Index { name: "payments_by_text", table: "payments", columns: &["transaction_id"], condition: OF_RECORDS },
];

/// Makes each index that is missing, was not completed, or does not fold, if its table is there. A session that makes one waits for transactions
/// that are open, but nobody waits for it.
pub async fn make(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    let Some(schema) = schema_of_extension(conn).await? else { return Ok(()) };
    let folds = can_fold(conn).await?;
    for Index { name, table, columns, condition } in INDEXES {
        if !exists(conn, table).await? || is_complete(conn, name, folds).await? {
            continue;
        }
        let text = |column: &str| if folds { format!("{FOLDED}({column})") } else { column.to_owned() };
        let columns: Vec<_> = columns.iter().map(|column| format!("{} {schema}.gin_trgm_ops", text(column))).collect();
        for statement in [
            // One that was interrupted.
            format!("drop index concurrently if exists {name}_next"),
            format!("create index concurrently {name}_next on {table} using gin ({}) {condition}", columns.join(", ")),
            format!("drop index concurrently if exists {name}"),
            format!("alter index {name}_next rename to {name}"),
        ] {
            conn.execute(AssertSqlSafe(statement)).await?;
        }
    }
    Ok(())
}

async fn can_fold(conn: &mut PgConnection) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar("select to_regprocedure($1) is not null").bind(format!("{FOLDED}(text)")).fetch_one(conn).await
}

/// The quoted name of the schema in which the extension is, which is created where it is missing. `None` if it cannot be had.
async fn schema_of_extension(conn: &mut PgConnection) -> Result<Option<String>, sqlx::Error> {
    let found =
        "select quote_ident(nspname) from pg_extension join pg_namespace on pg_namespace.oid = extnamespace where extname = 'pg_trgm'
                 and has_schema_privilege(extnamespace, 'usage')";
    if let Some(schema) = sqlx::query_scalar(found).fetch_optional(&mut *conn).await? {
        return Ok(Some(schema));
    }
    let is_public = sqlx::query_scalar("select current_schema() = 'public'").fetch_one(&mut *conn).await?;
    let create = match is_public {
        true => "create extension if not exists pg_trgm",
        // Other deployments use it too, each with a role of its own.
        false => {
            "create schema if not exists portico_extensions; grant usage on schema portico_extensions to public;
             create extension if not exists pg_trgm schema portico_extensions"
        }
    };
    match conn.execute(create).await {
        Ok(_) => sqlx::query_scalar(found).fetch_optional(conn).await,
        // Then the migrations do without, and say so.
        Err(sqlx::Error::Database(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

async fn exists(conn: &mut PgConnection, relation: &str) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar("select to_regclass($1) is not null").bind(relation).fetch_one(conn).await
}

async fn is_complete(conn: &mut PgConnection, index: &str, folds: bool) -> Result<bool, sqlx::Error> {
    let is_valid = "select exists (
                        select from pg_index
                        where indexrelid = to_regclass($1) and indisvalid and (pg_get_indexdef(indexrelid) like '%' || $2 || '(%') = $3
                    )";
    sqlx::query_scalar(is_valid).bind(index).bind(FOLDED).bind(folds).fetch_one(conn).await
}
