//! The SQL of orders, in addition to that of every resource.

use std::collections::HashMap;

use sqlx::PgConnection;
use uuid::Uuid;

use crate::kernel::ids::DriverId;

/// The fields of the driver that an order shows.
pub(super) struct DriverRow {
    pub(super) id: DriverId,
    pub(super) name: String,
    pub(super) phone: Option<String>,
}

/// Includes deleted drivers, because a delivered order still shows its driver.
pub(super) async fn list_drivers(conn: &mut PgConnection, ids: &[DriverId]) -> Result<HashMap<DriverId, DriverRow>, sqlx::Error> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let ids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
    let rows = sqlx::query_as!(DriverRow, "select id, name, phone from drivers where id = any($1)", &ids).fetch_all(conn).await?;
    Ok(rows.into_iter().map(|row| (row.id, row)).collect())
}
