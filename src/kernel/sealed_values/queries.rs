//! The SQL of sealed values. The names of the table and its columns are constants of the program.

use sqlx::AssertSqlSafe;
use uuid::Uuid;

use crate::kernel::database::{Connection, column};
use crate::kernel::sealed_values::{Context, SealedColumn};

/// A value, and what it is sealed for.
pub(super) struct SealedValue {
    pub(super) id: Uuid,
    pub(super) context: String,
    pub(super) sealed: Vec<u8>,
}

/// A value that is sealed again.
pub(super) struct SealedAgain {
    pub(super) id: Uuid,
    pub(super) before: Vec<u8>,
    pub(super) sealed: Vec<u8>,
}

/// The next values in the order of their ids.
pub(super) async fn list_after(conn: &mut Connection, of: &SealedColumn, after: Uuid, limit: i64) -> Result<Vec<SealedValue>, sqlx::Error> {
    let SealedColumn { table, column, context, .. } = of;
    let digest = match context {
        Context::OfId(_) => "''::bytea",
        Context::OfDigest(digest, _) => digest,
    };
    let sql = format!("select id, {digest}, {column} from {table} where {column} is not null and id > $1 order by id limit $2");
    let rows: Vec<(Uuid, Vec<u8>, Vec<u8>)> = sqlx::query_as(AssertSqlSafe(sql)).bind(after).bind(limit).fetch_all(conn).await?;
    let value = |(id, digest, sealed): (Uuid, Vec<u8>, Vec<u8>)| SealedValue {
        id,
        context: match context {
            Context::OfId(context) => context(id),
            Context::OfDigest(_, context) => context(&digest),
        },
        sealed,
    };
    Ok(rows.into_iter().map(value).collect())
}

pub(super) async fn count(conn: &mut Connection, of: &SealedColumn) -> Result<i64, sqlx::Error> {
    let SealedColumn { table, column, .. } = of;
    sqlx::query_scalar(AssertSqlSafe(format!("select count({column}) from {table}"))).fetch_one(conn).await
}

/// Replaces the values that are what they were and that nobody is changing. Waits for nobody. Returns how many it has replaced.
pub(super) async fn replace(conn: &mut Connection, of: &SealedColumn, values: &[SealedAgain]) -> Result<u64, sqlx::Error> {
    let SealedColumn { table, column: name, .. } = of;
    let sql = format!(
        "with unchanged as (
             select stored.id, again.sealed from {table} stored
             join unnest($1::uuid[], $2::bytea[], $3::bytea[]) again (id, before, sealed)
                 on stored.id = again.id and stored.{name} = again.before
             for no key update of stored skip locked
         )
         update {table} set {name} = unchanged.sealed from unchanged where {table}.id = unchanged.id"
    );
    let (ids, before, sealed) =
        (column(values, |value| value.id), column(values, |value| &*value.before), column(values, |value| &*value.sealed));
    let replaced = sqlx::query(AssertSqlSafe(sql)).bind(ids).bind(before).bind(sealed).execute(conn).await?;
    Ok(replaced.rows_affected())
}
