//! Bringing the database in line with the files, at start: schemas that the records still fit, and an index for each filter.

use std::time::Duration;

use sqlx::{Connection, PgConnection};
use tokio::time::sleep;

use crate::declared::declaration::{Incompatible, compare, is_same};
use crate::declared::{Declaration, Declared, queries};
use crate::kernel::database::missing_migrations;
use crate::kernel::secrets::sha256;

/// Who brings the database in line holds this advisory lock, so that instances that start together do not get in each other's way.
const LOCK: i64 = 0x706f_7274_6963_6f01;
/// How often somebody who waits for it tries again.
const TRY_AGAIN: Duration = Duration::from_millis(200);

/// Why the database cannot be brought in line.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// The schema has changed and its version has not.
    #[error("the schema of {0} has changed: give it a version above {1}")]
    VersionMissing(String, i32),
    /// Another instance knows a later version.
    #[error("the database has version {1} of the schema of {0}, and the file has {2}")]
    Older(String, i32, i32),
    /// Records that are there might not fit.
    #[error("records of {0} that fit version {1} of its schema may not fit version {2}")]
    Incompatible(String, i32, i32, #[source] Incompatible),
    /// The tables are not there yet.
    #[error("the database lacks {0} migrations of this version: run portico migrate")]
    NotMigrated(usize),
    /// The database failed.
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
}

impl PrepareError {
    /// The files are not to blame: it may well succeed later.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::NotMigrated(_) | Self::Database(_))
    }
}

impl Declared {
    /// Takes the schemas and makes the indexes.
    pub async fn prepare(&self) -> Result<(), PrepareError> {
        let Some(mut conn) = self.connect().await? else { return Ok(()) };
        while !queries::try_lock(&mut conn, LOCK).await? {
            sleep(TRY_AGAIN).await;
        }
        self.take_schemas(&mut conn).await?.commit().await?;
        for declaration in self.kinds.iter() {
            make_indexes(&mut conn, declaration).await?;
        }
        Ok(conn.close().await?)
    }

    /// Looks whether the schemas could be taken, and takes none. The kinds that there are.
    pub async fn look(&self) -> Result<Vec<&str>, PrepareError> {
        if let Some(mut conn) = self.connect().await? {
            self.take_schemas(&mut conn).await?.rollback().await?;
        }
        Ok(self.kinds.iter().map(|declaration| declaration.kind.as_str()).collect())
    }

    /// A connection of its own, with which the lock ends whatever happens; none, where nothing is declared.
    async fn connect(&self) -> Result<Option<PgConnection>, PrepareError> {
        if self.kinds.is_empty() {
            return Ok(None);
        }
        match missing_migrations(&self.pool).await? {
            0 => Ok(Some(self.pool.acquire().await?.detach())),
            missing => Err(PrepareError::NotMigrated(missing)),
        }
    }

    async fn take_schemas<'c>(&self, conn: &'c mut PgConnection) -> Result<sqlx::Transaction<'c, sqlx::Postgres>, PrepareError> {
        let mut transaction = conn.begin().await?;
        for declaration in self.kinds.iter() {
            self.take_schema(&mut transaction, declaration).await?;
        }
        Ok(transaction)
    }

    async fn take_schema(&self, conn: &mut PgConnection, declaration: &Declaration) -> Result<(), PrepareError> {
        let Declaration { kind, version, schema, .. } = declaration;
        if let Some(known) = queries::find_latest(conn, kind).await? {
            if known.version > *version {
                return Err(PrepareError::Older(kind.clone(), known.version, *version));
            }
            if known.version == *version {
                let same = is_same(&known.schema, schema);
                return if same { Ok(()) } else { Err(PrepareError::VersionMissing(kind.clone(), *version)) };
            }
            if let Err(why) = compare(&known.schema, schema)
                && !queries::forget_unused(conn, kind).await?
            {
                return Err(PrepareError::Incompatible(kind.clone(), known.version, *version, why));
            }
        }
        Ok(queries::insert_schema(conn, kind, *version, schema, self.clock.now()).await?)
    }
}

async fn make_indexes(conn: &mut PgConnection, declaration: &Declaration) -> Result<(), sqlx::Error> {
    let kind = &declaration.kind;
    for (member, form) in &declaration.filters {
        let expression = form.expression(member);
        let name = format!("declared_{}", &hex::encode(sha256(format!("{kind} {expression}")))[..16]);
        match queries::find_index(conn, &name).await? {
            Some(true) => continue,
            Some(false) => queries::drop_index(conn, &name).await?,
            None => {}
        }
        queries::create_index(conn, &name, kind, &expression).await?;
    }
    Ok(())
}
