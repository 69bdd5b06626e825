//! Bringing the database in line with the files, at start: schemas that the records still fit, and an index for each filter.

use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, Postgres, Transaction};
use tokio::time::sleep;

use crate::declared::declaration::{Incompatible, compare};
use crate::declared::{Declaration, Declared};
use crate::kernel::secrets::sha256;

/// Who makes indexes holds this advisory lock, so that instances that start together do not make them twice.
const LOCK: i64 = 0x706f_7274_6963_6f01;
/// How often somebody who waits for it tries again. Nobody waits inside of a statement: making an index waits for those to end.
const TRY_AGAIN: Duration = Duration::from_millis(200);

/// Why the database cannot be brought in line.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// The schema has changed and its version has not.
    #[error("{0}: the schema has changed; give it a version above {1}")]
    VersionMissing(String, i32),
    /// Another instance knows a later version.
    #[error("{0}: the database has version {1} of the schema, and the file has {2}")]
    Older(String, i32, i32),
    /// Records that are there might not fit.
    #[error("{0}: records of version {1} may not fit version {2}")]
    Incompatible(String, i32, i32, #[source] Incompatible),
    /// The database failed.
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
}

impl Declared {
    /// Remembers the schemas and makes the indexes. To be called before anything is served.
    pub async fn prepare(&self) -> Result<(), PrepareError> {
        if self.kinds.is_empty() {
            return Ok(());
        }
        let mut conn = self.pool.acquire().await?;
        for declaration in self.kinds.iter() {
            let mut transaction = conn.begin().await?;
            self.adopt(&mut transaction, declaration).await?;
            transaction.commit().await?;
        }
        while !try_lock(&mut conn).await? {
            sleep(TRY_AGAIN).await;
        }
        let made = make_indexes(&mut conn, &self.kinds).await;
        sqlx::query_scalar!("select pg_advisory_unlock($1)", LOCK).fetch_one(&mut *conn).await?;
        Ok(made?)
    }

    /// Remembers the schema, if every record that is there fits it.
    async fn adopt(&self, transaction: &mut Transaction<'_, Postgres>, declaration: &Declaration) -> Result<(), PrepareError> {
        let (kind, version, schema, now) = (&declaration.kind, declaration.version, &declaration.schema, self.clock.now());
        sqlx::query!(
            "insert into declared_schemas (kind, version, schema, applied_at) values ($1, $2, $3, $4)
             on conflict on constraint declared_schemas_pkey do nothing",
            kind,
            version,
            schema,
            now,
        )
        .execute(&mut **transaction)
        .await?;
        let known = sqlx::query!(
            r#"select version, schema, exists (select from declared_records where kind = $1) as "is_used!"
               from declared_schemas where kind = $1 for update"#,
            kind,
        )
        .fetch_one(&mut **transaction)
        .await?;
        if known.version > version {
            return Err(PrepareError::Older(kind.clone(), known.version, version));
        }
        if known.schema == *schema {
            return Ok(());
        }
        if known.version == version {
            return Err(PrepareError::VersionMissing(kind.clone(), version));
        }
        if known.is_used {
            compare(&known.schema, schema).map_err(|why| PrepareError::Incompatible(kind.clone(), known.version, version, why))?;
        }
        sqlx::query!("update declared_schemas set version = $2, schema = $3, applied_at = $4 where kind = $1", kind, version, schema, now)
            .execute(&mut **transaction)
            .await?;
        Ok(())
    }
}

async fn try_lock(conn: &mut PgConnection) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(r#"select pg_try_advisory_lock($1) as "got!""#, LOCK).fetch_one(conn).await
}

/// Made while others read and write. One whose making was interrupted is of no use to anybody, and made anew.
async fn make_indexes(conn: &mut PgConnection, kinds: &[&Declaration]) -> Result<(), sqlx::Error> {
    for (declaration, (member, form)) in kinds.iter().flat_map(|kind| kind.filters.iter().map(move |filter| (kind, filter))) {
        let (kind, expression) = (&declaration.kind, form.expression(member));
        let name = format!("declared_{}", &hex::encode(sha256(format!("{kind} {expression}")))[..16]);
        let is_valid = sqlx::query_scalar!("select indisvalid from pg_index where indexrelid = to_regclass($1)", name).fetch_optional(&mut *conn).await?;
        match is_valid {
            Some(true) => continue,
            Some(false) => drop(conn.execute(sqlx::raw_sql(AssertSqlSafe(format!("drop index concurrently {name}")))).await?),
            None => {}
        }
        let sql = format!(
            "create index concurrently {name} on declared_records (company_id, {expression}, created_at, id)
             where kind = '{kind}' and deleted_at is null"
        );
        conn.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await?;
    }
    Ok(())
}
