//! Records that others still need are not deleted.

use sqlx::{PgConnection, QueryBuilder};
use uuid::Uuid;

use crate::kernel::problem::{Problem, ProblemCode};
use crate::resources::Resource;

/// Live records that name another one, which therefore stays.
#[derive(Clone, Copy, Debug)]
pub struct NeededBy {
    table: &'static str,
    /// The column that names the other record.
    column: &'static str,
    /// Which of them count.
    condition: &'static str,
    /// The sentence of the refusal.
    sentence: &'static str,
}

impl NeededBy {
    /// The records of the kind `R` that name the other one in `column`.
    pub const fn each<R: Resource>(column: &'static str, sentence: &'static str) -> Self {
        Self { table: R::TABLE, column, condition: "true", sentence }
    }

    /// Only those of them for which this condition of SQL holds.
    pub const fn while_it(self, condition: &'static str) -> Self {
        Self { condition, ..self }
    }

    /// Refuses with `record_in_use` while one of them names `id`.
    pub(super) async fn check(&self, conn: &mut PgConnection, id: Uuid) -> Result<(), Problem> {
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
