//! The statement that finds out whether the server can write.

use crate::kernel::database::Connection;

/// Sorts more than fits into 64 kB (`work_mem`), so that the server writes a file and removes it again. Nothing else changes: no table,
/// no transaction id, nothing for vacuum.
pub(super) async fn write_something(conn: &mut Connection) -> Result<(), sqlx::Error> {
    sqlx::query_scalar!(r#"select count(distinct number) as "count!" from generate_series(1, 10000) as number"#).fetch_one(conn).await?;
    Ok(())
}
