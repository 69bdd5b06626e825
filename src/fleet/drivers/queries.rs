//! The SQL of drivers, beyond what every resource has.

use sqlx::PgConnection;

use crate::kernel::ids::DriverId;

/// Whether an order that is not closed yet counts on the driver.
pub(super) async fn serves_an_open_order(conn: &mut PgConnection, driver: DriverId) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select exists (
             select from orders where driver_id = $1 and deleted_at is null and status in ('created', 'dispatched', 'started')
           ) as "serves!""#,
        driver.uuid(),
    )
    .fetch_one(conn)
    .await
}
