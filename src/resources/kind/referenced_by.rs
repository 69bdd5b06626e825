//! Records that other records still reference cannot be deleted.

use sqlx::QueryBuilder;
use uuid::Uuid;

use crate::kernel::database::Connection;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::resources::Resource;

/// Live records that reference another record and so prevent its deletion.
#[derive(Clone, Copy, Debug)]
pub struct ReferencedBy {
    table: &'static str,
    /// The column that references the other record.
    column: &'static str,
    /// The SQL condition that restricts which of them count.
    condition: &'static str,
    /// The message of the error.
    sentence: &'static str,
}

impl ReferencedBy {
    /// All records of the kind `R` that reference the other record in `column`.
    pub const fn new<R: Resource>(column: &'static str, sentence: &'static str) -> Self {
        Self { table: R::TABLE, column, condition: "true", sentence }
    }

    /// Restricts it to the records for which this SQL condition holds.
    pub const fn when(self, condition: &'static str) -> Self {
        Self { condition, ..self }
    }

    /// Returns the error `record_in_use` if one of these records references `id`.
    pub(super) async fn check(&self, conn: &mut Connection, id: Uuid) -> Result<(), Problem> {
        let Self { table, column, condition, sentence } = self;
        let mut sql =
            QueryBuilder::new(format!("select exists (select from {table} where deleted_at is null and {condition} and {column} = "));
        sql.push_bind(id).push(")");
        match sql.build_query_scalar().fetch_one(conn).await? {
            true => Err(Problem::new(ProblemCode::RecordInUse).detail(*sentence)),
            false => Ok(()),
        }
    }
}
