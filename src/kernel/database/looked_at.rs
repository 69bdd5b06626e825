//! A query whose text was looked at before it runs.

use sqlx::postgres::{PgArguments, PgStatement};
use sqlx::{Execute, Postgres, SqlStr};

/// A query in its parts: `sqlx` gives away the text of a query only together with the query.
pub struct LookedAt {
    sql: SqlStr,
    arguments: Option<PgArguments>,
    persistent: bool,
}

impl LookedAt {
    /// Takes a query apart.
    ///
    /// # Errors
    /// An argument cannot be encoded.
    pub fn new<'q>(mut query: impl Execute<'q, Postgres>) -> Result<Self, sqlx::Error> {
        let arguments = query.take_arguments().map_err(sqlx::Error::Encode)?;
        Ok(Self { arguments, persistent: query.persistent(), sql: query.sql() })
    }

    /// The same query, of which the server keeps nothing for the next time. Its parameters and columns have types of PostgreSQL alone: others are
    /// looked up by `sqlx` between its two parts, and the first part does not survive that.
    pub fn once(self) -> Self {
        Self { persistent: false, ..self }
    }

    /// The text.
    pub fn text(&self) -> SqlStr {
        self.sql.clone()
    }
}

impl Execute<'_, Postgres> for LookedAt {
    fn sql(self) -> SqlStr {
        self.sql
    }

    fn statement(&self) -> Option<&PgStatement> {
        None
    }

    fn take_arguments(&mut self) -> Result<Option<PgArguments>, sqlx::error::BoxDynError> {
        Ok(self.arguments.take())
    }

    fn persistent(&self) -> bool {
        self.persistent
    }
}
