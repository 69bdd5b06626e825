//! Deleting a company: everything that belongs to it, in batches.
//!
//! This is the one place that empties tables of other owners. Nothing follows from it, neither events nor entries in the audit trail: what
//! would tell of it goes as well. A table is emptied by a statement of its own for each batch, so nothing is locked for long, and a deletion
//! that was interrupted is continued by another one. Attempts do not know their company, so they go with the deliveries of each batch. The
//! company itself goes last, with how far its move is, if it has left for another cell; until then it is suspended, so nobody adds to it but
//! what was under way, and the tables are gone through until nothing is found. Who resumes it meanwhile ends the deletion.

use std::collections::BTreeMap;

use sqlx::AssertSqlSafe;

use crate::companies::belongings::{ATTEMPTS, HAVE_ATTEMPTS, LEAVES, MOVES, Part, TABLES, parts};
use crate::companies::queries;
use crate::companies::suspension::is_suspended;
use crate::kernel::database::Connection;
use crate::kernel::ids::CompanyId;

/// The number of rows that one statement deletes.
const BATCH: i64 = 1_000;

/// Why a company is not deleted.
#[derive(Debug, thiserror::Error)]
pub enum DeletionError {
    /// It is not suspended, so its customers and servers still use it.
    #[error("the company is not suspended: only a company that is suspended can be deleted")]
    NotSuspended,
    /// It is on its way to or from another cell, or has gone there.
    #[error("the company is on its way to or from another cell")]
    Moves,
    /// The database failed. What was deleted until then stays deleted.
    #[error("the database could not be used")]
    Database(#[from] sqlx::Error),
}

/// A deletion under way.
#[derive(Debug)]
pub struct Deletion {
    company: CompanyId,
    /// Whether this is what a move leaves behind.
    of_move: bool,
    /// The table that is emptied.
    at: usize,
    /// Whether anything was found since the first table.
    found: bool,
    report: BTreeMap<&'static str, u64>,
}

impl Deletion {
    /// Begins to delete a company that is suspended and does not move, or continues.
    pub async fn begin(conn: &mut Connection, company: CompanyId) -> Result<Self, DeletionError> {
        Self::begin_as(conn, company, false).await
    }

    /// Begins to delete what a move leaves behind of a company in one cell, which is in another one, or continues.
    pub async fn of_move(conn: &mut Connection, company: CompanyId) -> Result<Self, DeletionError> {
        Self::begin_as(conn, company, true).await
    }

    async fn begin_as(conn: &mut Connection, company: CompanyId, of_move: bool) -> Result<Self, DeletionError> {
        let deletion = Self { company, of_move, at: 0, found: false, report: BTreeMap::new() };
        deletion.must_be_allowed(conn).await.map(|()| deletion)
    }

    async fn must_be_allowed(&self, conn: &mut Connection) -> Result<(), DeletionError> {
        if !is_suspended(conn, self.company).await? {
            return Err(DeletionError::NotSuspended);
        }
        match !self.of_move && queries::is_moving(conn, self.company).await? {
            true => Err(DeletionError::Moves),
            false => Ok(()),
        }
    }

    /// Deletes a batch. Returns how many rows it had, or `None` once nothing is left and the company itself is deleted.
    pub async fn next_batch(&mut self, conn: &mut Connection) -> Result<Option<u64>, DeletionError> {
        self.must_be_allowed(conn).await?;
        if let Some(&(table, rows)) = TABLES.get(self.at).filter(|(table, _)| *table != MOVES) {
            let Batch { deleted, attempts } = delete_batch(conn, table, rows, self.company).await?;
            if deleted == 0 {
                self.at += 1;
            } else {
                self.found = true;
                *self.report.entry(table).or_default() += deleted;
            }
            if attempts > 0 {
                *self.report.entry(ATTEMPTS).or_default() += attempts;
            }
            return Ok(Some(deleted + attempts));
        }
        if self.found {
            // What was under way may have been written meanwhile.
            (self.at, self.found) = (0, false);
            return Ok(Some(0));
        }
        let company = sqlx::query!(
            "with moved as (
                 delete from company_moves using companies
                 where $2 and company_id = $1 and id = company_id and companies.suspended_at is not null
             )
             delete from companies where id = $1 and suspended_at is not null",
            self.company.uuid(),
            self.of_move,
        );
        if company.execute(conn).await?.rows_affected() == 0 {
            return Err(DeletionError::NotSuspended);
        }
        self.report.insert("companies", 1);
        Ok(None)
    }

    /// How many rows were deleted, by table.
    pub fn report(&self) -> &BTreeMap<&'static str, u64> {
        &self.report
    }
}

/// The rows of a batch, and the attempts that went with its deliveries.
#[derive(Default)]
struct Batch {
    deleted: u64,
    attempts: u64,
}

/// Deletes up to [`BATCH`] rows from each part of a table. The names are those of this module and of the database.
async fn delete_batch(conn: &mut Connection, table: &str, rows: &str, company: CompanyId) -> Result<Batch, sqlx::Error> {
    let mut batch = Batch::default();
    for Part { part, key } in parts(conn, table).await? {
        // An attempt goes with its delivery, wherever that is.
        let attempts = match HAVE_ATTEMPTS.contains(&table) {
            true => format!("delete from {ATTEMPTS} where delivery_id = any(array(select id from chosen)) returning 1"),
            false => "select 1 where false".to_owned(),
        };
        let leaves = LEAVES.iter().find(|(of, _)| *of == table).map_or_else(String::new, |(_, leaves)| format!(" and {leaves}"));
        let statement = format!(
            "with chosen as materialized (select {key} from {part} as {table} where {rows}{leaves} limit {BATCH}),
                  attempts_gone as ({attempts}),
                  gone as (delete from {part} where ({key}) in (select {key} from chosen) returning 1)
             select (select count(*) from gone), (select count(*) from attempts_gone)"
        );
        let deleted: (i64, i64) = sqlx::query_as(AssertSqlSafe(statement)).bind(company.uuid()).fetch_one(&mut *conn).await?;
        batch.deleted += deleted.0.unsigned_abs();
        batch.attempts += deleted.1.unsigned_abs();
    }
    Ok(batch)
}
