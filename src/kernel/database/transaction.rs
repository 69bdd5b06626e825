//! A transaction: what is not committed is rolled back.

use std::ops::{Deref, DerefMut};

use futures::future::BoxFuture;

use crate::kernel::database::connection::{Connection, roll_back};

/// A transaction on a connection of its own, or on a borrowed one. Within another one, it is a savepoint of it.
#[derive(Debug)]
pub struct Transaction<'c> {
    connection: Held<'c>,
    open: bool,
}

/// The connection of a transaction.
#[derive(Debug)]
pub enum Held<'c> {
    /// It goes back to the pool with the end of the transaction.
    Own(Connection),
    /// Somebody uses it further.
    Borrowed(&'c mut Connection),
}

impl From<Connection> for Held<'static> {
    fn from(connection: Connection) -> Self {
        Self::Own(connection)
    }
}

impl<'c> From<&'c mut Connection> for Held<'c> {
    fn from(connection: &'c mut Connection) -> Self {
        Self::Borrowed(connection)
    }
}

impl<'c> Transaction<'c> {
    pub(super) async fn begin(connection: impl Into<Held<'c>>, statement: &'static str) -> Result<Self, sqlx::Error> {
        let mut transaction = Self { connection: connection.into(), open: false };
        let outer = transaction.depth;
        let begin = match outer {
            0 => transaction.opening(statement),
            _ => format!("savepoint inner_{}", outer + 1),
        };
        // What begins it is part of it already.
        transaction.depth += 1;
        if let Err(error) = transaction.command(begin).await {
            transaction.depth = outer;
            // It may have begun before its settings were refused.
            transaction.given_up = transaction.given_up.or((outer == 0).then_some(1));
            return Err(error);
        }
        transaction.open = true;
        Ok(transaction)
    }

    /// Commits.
    pub fn commit(self) -> BoxFuture<'c, Result<(), sqlx::Error>> {
        Box::pin(self.committed())
    }

    async fn committed(mut self) -> Result<(), sqlx::Error> {
        let commit = match self.depth {
            1 => "commit".to_owned(),
            depth => format!("release savepoint inner_{depth}"),
        };
        let ended = self.end(commit).await;
        // A server that refuses to commit has rolled everything back; within a transaction, that is left to do.
        if self.depth == 1 && self.given_up.is_none() && matches!(ended, Err(sqlx::Error::Database(_))) {
            self.is_over();
        }
        ended
    }

    /// Rolls back, and returns when the server has done so.
    pub fn rollback(mut self) -> BoxFuture<'c, Result<(), sqlx::Error>> {
        let roll_back = roll_back(self.depth);
        Box::pin(async move { self.end(roll_back).await })
    }

    async fn end(&mut self, statement: String) -> Result<(), sqlx::Error> {
        self.command(statement).await?;
        self.is_over();
        Ok(())
    }

    fn is_over(&mut self) {
        self.depth -= 1;
        self.open = false;
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if self.open {
            self.given_up = Some(self.depth);
            self.depth -= 1;
        }
    }
}

impl Deref for Transaction<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        match &self.connection {
            Held::Own(connection) => connection,
            Held::Borrowed(connection) => connection,
        }
    }
}

impl DerefMut for Transaction<'_> {
    fn deref_mut(&mut self) -> &mut Connection {
        match &mut self.connection {
            Held::Own(connection) => connection,
            Held::Borrowed(connection) => connection,
        }
    }
}
