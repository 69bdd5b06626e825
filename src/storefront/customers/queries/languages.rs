//! The SQL of the languages that customers use.

use crate::kernel::database::Connection;
use crate::kernel::ids::CustomerId;

/// The languages that are kept of a customer, whose account may be closed.
pub async fn find_languages(conn: &mut Connection, id: CustomerId) -> Result<Option<String>, sqlx::Error> {
    let found = sqlx::query_scalar!("select languages from customers where id = $1", id.uuid()).fetch_optional(conn).await?;
    Ok(found.flatten())
}

/// Keeps the languages that a customer uses. They are no part of the record that others see, so it does not count as changed.
pub async fn keep_languages(conn: &mut Connection, id: CustomerId, languages: &str) -> Result<(), sqlx::Error> {
    sqlx::query!("update customers set languages = $2 where id = $1 and closed_at is null", id.uuid(), languages).execute(conn).await?;
    Ok(())
}
