//! The SQL of sealed values. The names of the table and its columns are constants of the program.

use secrecy::SecretSlice;
use serde_json::{Map, Value};
use sqlx::AssertSqlSafe;
use sqlx::types::Json;
use uuid::Uuid;

use crate::kernel::crypto::{ApplicationKey, CannotOpen, Fingerprint};
use crate::kernel::database::{Connection, column};
use crate::kernel::sealed_values::{Context, SealedColumn, SentTo};

/// A value, and what it is sealed for.
pub(super) struct SealedValue {
    pub(super) id: Uuid,
    /// `None`: it is for no address that there is.
    pub(super) context: Option<String>,
    pub(super) sealed: Vec<u8>,
}

impl SealedValue {
    /// Opens the value for the address that its row names now. Returns its context, its key and the secret.
    pub(super) fn open(&self, key: &ApplicationKey) -> Result<(&str, Fingerprint, SecretSlice<u8>), CannotOpen> {
        let context = self.context.as_deref().ok_or(CannotOpen)?;
        let (fingerprint, secret) = key.open_with(context, &self.sealed)?;
        Ok((context, fingerprint, secret))
    }
}

/// A value that is sealed again.
pub(super) struct SealedAgain {
    pub(super) id: Uuid,
    pub(super) before: Vec<u8>,
    pub(super) sealed: Vec<u8>,
}

/// The id, the digest, what names the address, and the value.
type Row = (Uuid, Vec<u8>, Json<Map<String, Value>>, Vec<u8>);

/// The next values in the order of their ids.
pub(super) async fn list_after(conn: &mut Connection, of: &SealedColumn, after: Uuid, limit: i64) -> Result<Vec<SealedValue>, sqlx::Error> {
    let SealedColumn { table, column, context, sent_to, .. } = of;
    let digest = match context {
        Context::OfId(_) => "''::bytea",
        Context::OfDigest(digest, _) => digest,
    };
    let named = match sent_to {
        SentTo::Nobody | SentTo::Configured => String::new(),
        SentTo::Named(columns, _) => columns.iter().map(|column| format!("'{column}', {column}")).collect::<Vec<_>>().join(", "),
    };
    let sql = format!(
        "select id, {digest}, jsonb_build_object({named}), {column} from {table}
         where {column} is not null and id > $1 order by id limit $2"
    );
    let rows: Vec<Row> = sqlx::query_as(AssertSqlSafe(sql)).bind(after).bind(limit).fetch_all(conn).await?;
    let value = |(id, digest, Json(named), sealed): Row| {
        let row = match context {
            Context::OfId(context) => context(id),
            Context::OfDigest(_, context) => context(&digest),
        };
        let context = match sent_to {
            SentTo::Nobody | SentTo::Configured => Some(row),
            SentTo::Named(_, destination) => destination(&named).map(|destination| destination.context(&row)),
        };
        SealedValue { id, context, sealed }
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
