//! Steps that do not need each other: each is done, whatever becomes of the others.
//!
//! Deleting what has expired consists of such steps. One that fails, perhaps for days, must not keep what the others delete. The failures
//! are one error in the end, so the log tells all of them in one line.

use std::error::Error;

use crate::kernel::database::{Connection, Pool};
use crate::kernel::error_chain::chain;

/// Does steps one after the other, and remembers which have failed.
#[derive(Debug)]
pub struct Steps {
    pool: Pool,
    /// The connection of the steps so far, if the last one has succeeded.
    conn: Option<Connection>,
    failed: Vec<String>,
}

/// The steps that have failed, by name, each with its error.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.join("; "))]
pub struct Unfinished(Vec<String>);

/// No step was begun, or the work was given up.
impl From<sqlx::Error> for Unfinished {
    fn from(error: sqlx::Error) -> Self {
        Self(vec![chain(&error)])
    }
}

impl Steps {
    /// No steps yet. Those to come have connections of `pool`.
    pub fn on(pool: &Pool) -> Self {
        Self { pool: pool.clone(), conn: None, failed: Vec::new() }
    }

    /// Does a step on a connection on which statements may take long ([`Pool::acquire_patient`]). Returns its result, if it succeeds.
    pub async fn run<T, E>(&mut self, step: &'static str, work: impl AsyncFnOnce(&mut Connection) -> Result<T, E>) -> Option<T>
    where
        E: Error + From<sqlx::Error>,
    {
        let done = self.on_connection(work).await;
        self.note(step, done)
    }

    /// Does a step that takes connections by itself. It may last without a statement, so the connection of the other steps does not wait for it.
    pub async fn run_apart<T, E>(&mut self, step: &'static str, work: impl Future<Output = Result<T, E>>) -> Option<T>
    where
        E: Error,
    {
        self.conn = None;
        let done = work.await;
        self.note(step, done)
    }

    /// Ends the steps.
    ///
    /// # Errors
    /// Some have failed.
    pub fn finish(self) -> Result<(), Unfinished> {
        if self.failed.is_empty() { Ok(()) } else { Err(Unfinished(self.failed)) }
    }

    async fn on_connection<T, E>(&mut self, work: impl AsyncFnOnce(&mut Connection) -> Result<T, E>) -> Result<T, E>
    where
        E: From<sqlx::Error>,
    {
        let mut conn = match self.conn.take() {
            Some(conn) => conn,
            None => self.pool.acquire_patient().await?,
        };
        let done = work(&mut conn).await?;
        // Only now: a failure may have broken the connection, so the next step gets another one.
        self.conn = Some(conn);
        Ok(done)
    }

    fn note<T>(&mut self, step: &str, done: Result<T, impl Error>) -> Option<T> {
        done.inspect_err(|error| self.failed.push(format!("{step}: {}", chain(error)))).ok()
    }
}
