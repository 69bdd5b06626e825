//! The schemas of the files, held against those that records were written under.

use sqlx::{PgConnection, Postgres, Transaction};

use crate::declared::declaration::{Incompatible, compare, is_same};
use crate::declared::{Declaration, Declared, queries};
use crate::kernel::database::missing_migrations;

/// Why the files do not suit the database.
#[derive(Debug, thiserror::Error)]
pub enum Unsuitable {
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

impl Unsuitable {
    /// The files are not to blame: they may well suit it later.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::NotMigrated(_) | Self::Database(_))
    }
}

impl Declared {
    /// Takes the schemas of the files; refuses those that records may not fit. What is refused changes nothing.
    pub async fn take_schemas(&self) -> Result<(), Unsuitable> {
        match self.try_schemas().await? {
            Some(transaction) => Ok(transaction.commit().await?),
            None => Ok(()),
        }
    }

    /// Looks whether the schemas could be taken, and takes none. The kinds that there are.
    pub async fn look(&self) -> Result<Vec<&str>, Unsuitable> {
        if let Some(transaction) = self.try_schemas().await? {
            transaction.rollback().await?;
        }
        Ok(self.kinds.iter().map(|declaration| declaration.kind.as_str()).collect())
    }

    /// Nothing, where nothing is declared: such a service starts whatever its database is like.
    async fn try_schemas(&self) -> Result<Option<Transaction<'static, Postgres>>, Unsuitable> {
        if self.kinds.is_empty() {
            return Ok(None);
        }
        match missing_migrations(&self.pool).await? {
            0 => {}
            missing => return Err(Unsuitable::NotMigrated(missing)),
        }
        let mut transaction = self.pool.begin().await?;
        queries::lock_schemas(&mut transaction).await?;
        for declaration in self.kinds.iter() {
            self.take_schema(&mut transaction, declaration).await?;
        }
        Ok(Some(transaction))
    }

    async fn take_schema(&self, conn: &mut PgConnection, declaration: &Declaration) -> Result<(), Unsuitable> {
        let Declaration { kind, version, schema, .. } = declaration;
        if let Some(known) = queries::find_latest(conn, kind).await? {
            if known.version > *version {
                return Err(Unsuitable::Older(kind.clone(), known.version, *version));
            }
            if known.version == *version {
                let same = is_same(&known.schema, schema);
                return if same { Ok(()) } else { Err(Unsuitable::VersionMissing(kind.clone(), *version)) };
            }
            if let Err(why) = compare(&known.schema, schema)
                && !queries::forget_unused(conn, kind).await?
            {
                return Err(Unsuitable::Incompatible(kind.clone(), known.version, *version, why));
            }
        }
        Ok(queries::insert_schema(conn, kind, *version, schema, self.clock.now()).await?)
    }
}
