//! The SQL of the ids that customers have in the systems of the shop.

use crate::kernel::database::Connection;
use crate::kernel::ids::CustomerId;

/// Sets the external id of an account, or with `None` removes it.
pub async fn set_external_id(conn: &mut Connection, id: CustomerId, external_id: Option<&str>) -> Result<(), sqlx::Error> {
    sqlx::query!("update customers set external_id = $2 where id = $1", id.uuid(), external_id).execute(conn).await?;
    Ok(())
}
