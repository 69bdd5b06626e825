//! What a customer may follow: their own orders, and who or what brings those that are still open.

use sqlx::PgConnection;

use crate::kernel::ids::{CompanyId, CustomerId, DriverId, OrderId, VehicleId};

/// Whether the customer ordered this, whatever has become of it.
pub async fn is_order_of(conn: &mut PgConnection, company: CompanyId, customer: CustomerId, order: OrderId) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select exists (
             select from orders where id = $1 and company_id = $2 and customer_id = $3 and deleted_at is null
           ) as "is_own!""#,
        order.uuid(),
        company.uuid(),
        customer.uuid(),
    )
    .fetch_one(conn)
    .await
}

/// Whether the driver has an open order of the customer.
pub async fn is_served_by_driver(
    conn: &mut PgConnection,
    company: CompanyId,
    customer: CustomerId,
    driver: DriverId,
) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select exists (
             select from orders where customer_id = $1 and company_id = $2 and driver_id = $3
                and deleted_at is null and status in ('created', 'dispatched', 'started')
           ) as "is_served!""#,
        customer.uuid(),
        company.uuid(),
        driver.uuid(),
    )
    .fetch_one(conn)
    .await
}

/// Whether the vehicle carries an open order of the customer.
pub async fn is_served_by_vehicle(
    conn: &mut PgConnection,
    company: CompanyId,
    customer: CustomerId,
    vehicle: VehicleId,
) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select exists (
             select from orders where customer_id = $1 and company_id = $2 and vehicle_id = $3
                and deleted_at is null and status in ('created', 'dispatched', 'started')
           ) as "is_served!""#,
        customer.uuid(),
        company.uuid(),
        vehicle.uuid(),
    )
    .fetch_one(conn)
    .await
}
