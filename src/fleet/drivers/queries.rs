//! The SQL of drivers, in addition to that of every resource.

use std::collections::HashMap;

use uuid::Uuid;

use crate::fleet::drivers::Contact;
use crate::kernel::database::Connection;
use crate::kernel::ids::DriverId;

/// Includes deleted drivers, because a delivered order still shows its driver.
pub async fn list_contacts(conn: &mut Connection, ids: &[DriverId]) -> Result<HashMap<DriverId, Contact>, sqlx::Error> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let ids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
    let rows = sqlx::query_as!(Contact, "select id, name, phone from drivers where id = any($1)", &ids).fetch_all(conn).await?;
    Ok(rows.into_iter().map(|row| (row.id, row)).collect())
}
