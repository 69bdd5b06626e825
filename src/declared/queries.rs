//! The SQL of schemas and indexes. The SQL of the records is that of every resource.

use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::{AssertSqlSafe, Executor};

use crate::kernel::database::Connection;

/// The latest stored schema of a kind.
pub(super) struct Known {
    pub(super) version: i32,
    pub(super) schema: Value,
}

/// The number of live records of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Records {
    /// The kind.
    pub kind: String,
    /// How many there are.
    pub count: i64,
}

/// The live records of kinds that are not among `kinds`. Only their records are counted, by the index of their kind.
pub async fn count_records_of_others(conn: &mut Connection, kinds: &[String]) -> Result<Vec<Records>, sqlx::Error> {
    sqlx::query_as!(
        Records,
        r#"select kind as "kind!", count as "count!"
           from (select distinct kind from declared_schemas where kind <> all($1)) others
           cross join lateral (
               select count(*) from declared_records where declared_records.kind = others.kind and deleted_at is null
           ) records
           where count > 0 order by kind"#,
        kinds,
    )
    .fetch_all(conn)
    .await
}

/// Prevents other transactions from storing schemas until this one ends. Records can still be written.
pub(super) async fn lock_schemas(conn: &mut Connection) -> Result<(), sqlx::Error> {
    sqlx::query!("select from declaring_turn for update").execute(conn).await?;
    Ok(())
}

pub(super) async fn find_latest(conn: &mut Connection, kind: &str) -> Result<Option<Known>, sqlx::Error> {
    sqlx::query_as!(Known, "select version, schema from declared_schemas where kind = $1 order by version desc limit 1", kind)
        .fetch_optional(conn)
        .await
}

pub(super) async fn insert_schema(
    conn: &mut Connection,
    kind: &str,
    version: i32,
    schema: &Value,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    sqlx::query!("insert into declared_schemas (kind, version, schema, applied_at) values ($1, $2, $3, $4)", kind, version, schema, now)
        .execute(conn)
        .await?;
    Ok(())
}

/// Deletes every schema of a kind that has no records. A concurrent insert of a record waits, and then fails because its schema is gone.
pub(super) async fn forget_unused(conn: &mut Connection, kind: &str) -> Result<bool, sqlx::Error> {
    let forgotten =
        sqlx::query!("delete from declared_schemas where kind = $1 and not exists (select from declared_records where kind = $1)", kind,);
    Ok(forgotten.execute(conn).await?.rows_affected() > 0)
}

/// Whether an index exists, and is valid. An index whose creation was interrupted is invalid.
pub(super) async fn find_index(conn: &mut Connection, name: &str) -> Result<Option<bool>, sqlx::Error> {
    sqlx::query_scalar!("select indisvalid from pg_index where indexrelid = to_regclass($1)", name).fetch_optional(conn).await
}

pub(super) async fn drop_index(conn: &mut Connection, name: &str) -> Result<(), sqlx::Error> {
    run(conn, format!("drop index concurrently {name}")).await
}

/// Creates an index of one kind's live records by a field, in the order of lists, without blocking reads and writes.
pub(super) async fn create_index(conn: &mut Connection, name: &str, kind: &str, expression: &str) -> Result<(), sqlx::Error> {
    let sql = format!(
        "create index concurrently {name} on declared_records (company_id, {expression}, created_at, id)
         where kind = '{kind}' and deleted_at is null"
    );
    run(conn, sql).await
}

/// Every part of the statement was validated to be a word when its file was read. Runs outside of a transaction, as concurrent
/// index creation requires.
async fn run(conn: &mut Connection, sql: String) -> Result<(), sqlx::Error> {
    conn.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await?;
    Ok(())
}
