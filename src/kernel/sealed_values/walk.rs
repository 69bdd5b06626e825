//! The values of a column, batch by batch, so that no statement takes long however many there are.

use uuid::Uuid;

use crate::kernel::database::Pool;
use crate::kernel::sealed_values::SealedColumn;
use crate::kernel::sealed_values::queries::{self, SealedValue};

/// How many values are read at once.
const BATCH: i64 = 500;

pub(super) struct Walk<'a> {
    pub(super) pool: &'a Pool,
    pub(super) column: SealedColumn,
    after: Uuid,
}

impl<'a> Walk<'a> {
    pub(super) fn new(pool: &'a Pool, column: SealedColumn) -> Self {
        Self { pool, column, after: Uuid::nil() }
    }

    /// The next values; none at the end.
    pub(super) async fn next(&mut self) -> Result<Vec<SealedValue>, sqlx::Error> {
        let values = queries::list_after(&mut self.pool.acquire().await?, &self.column, self.after, BATCH).await?;
        self.after = values.last().map_or(self.after, |value| value.id);
        Ok(values)
    }
}
