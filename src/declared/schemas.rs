//! Compares the schemas of the files with those that stored records were written under.

use crate::declared::declaration::{Incompatible, compare, is_same};
use crate::declared::queries::Records;
use crate::declared::{Declaration, Declared, queries};
use crate::kernel::database::{Connection, Transaction};
use crate::kernel::migrations::{self, MigrationError};

/// The reason why the files do not match the database.
#[derive(Debug, thiserror::Error)]
pub enum Unsuitable {
    /// The schema has changed, but its version has not.
    #[error("the schema of {0} has changed: give it a version higher than {1}")]
    VersionMissing(String, i32),
    /// The database has a newer version of the schema, written by another instance.
    #[error("the database has version {1} of the schema of {0}, and the file has {2}")]
    Older(String, i32, i32),
    /// Stored records may not fit the new schema.
    #[error("records of {0} that are valid under version {1} of its schema may be invalid under version {2}")]
    Incompatible(String, i32, i32, #[source] Incompatible),
    /// The files that declared records are missing: the directory is another one, was not mounted, or has lost them.
    #[error(
        "no file in extensions.directory declares {}: bring the files back; if they were removed on purpose, name the kinds in \
         extensions.retired, and their records stay in the database without being served",
        listed(.0)
    )]
    Undeclared(Vec<Records>),
    /// A kind is retired and has a file, so that one of them is a mistake.
    #[error("extensions.retired names {0}, which a file declares: remove one of them")]
    Returned(String),
    /// The database does not have the schema of this binary.
    #[error(transparent)]
    NotMigrated(#[from] MigrationError),
    /// A database error.
    #[error("the database could not be used")]
    Database(#[from] sqlx::Error),
}

fn listed(kinds: &[Records]) -> String {
    let each = |Records { kind, count }: &Records| format!("{kind}, of which there are {count} records");
    kinds.iter().map(each).collect::<Vec<_>>().join("; ")
}

impl Unsuitable {
    /// Whether the error may be temporary, that is, not caused by the files.
    pub fn may_pass(&self) -> bool {
        matches!(
            self,
            Self::NotMigrated(MigrationError::Missing(_) | MigrationError::NoRight | MigrationError::Database(_)) | Self::Database(_)
        )
    }
}

impl Declared {
    /// Stores the schemas of the files. Returns an error, and changes nothing, if stored records may not fit one of them, or if the file
    /// of stored records is missing.
    pub async fn take_schemas(&self) -> Result<(), Unsuitable> {
        Ok(self.try_schemas().await?.commit().await?)
    }

    /// Checks whether the schemas can be stored, without storing them. Returns the names of the kinds.
    pub async fn look(&self) -> Result<Vec<&str>, Unsuitable> {
        self.try_schemas().await?.rollback().await?;
        Ok(self.kinds.iter().map(|declaration| declaration.kind.as_str()).collect())
    }

    async fn try_schemas(&self) -> Result<Transaction<'static>, Unsuitable> {
        migrations::must_be_applied(&self.pool).await?;
        let mut transaction = self.pool.begin().await?;
        self.must_declare_all_records(&mut transaction).await?;
        if !self.kinds.is_empty() {
            queries::lock_schemas(&mut transaction).await?;
        }
        for declaration in self.kinds.iter() {
            self.take_schema(&mut transaction, declaration).await?;
        }
        Ok(transaction)
    }

    /// Without the file of a kind, its routes would answer 404 and its events would not be published, as if there had never been any.
    async fn must_declare_all_records(&self, conn: &mut Connection) -> Result<(), Unsuitable> {
        let declared = self.kinds.iter().map(|declaration| &declaration.kind);
        if let Some(kind) = declared.clone().find(|kind| self.retired.contains(kind)) {
            return Err(Unsuitable::Returned(kind.clone()));
        }
        let known: Vec<String> = declared.chain(&self.retired).cloned().collect();
        let others = queries::count_records_of_others(conn, &known).await?;
        if others.is_empty() { Ok(()) } else { Err(Unsuitable::Undeclared(others)) }
    }

    async fn take_schema(&self, conn: &mut Connection, declaration: &Declaration) -> Result<(), Unsuitable> {
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
        queries::insert_schema(conn, kind, *version, schema, self.clock.now()).await?;
        // An instance of the version before locks the table instead, for which the insertion has waited: what it has stored is seen now.
        match queries::find_latest(conn, kind).await? {
            Some(latest) if latest.version > *version => Err(Unsuitable::Older(kind.clone(), latest.version, *version)),
            _ => Ok(()),
        }
    }
}
