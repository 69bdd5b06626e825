//! The records that a customer may subscribe to on the socket: their own orders, and the drivers and vehicles of their open orders.

use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, CustomerId, DriverId, OrderId, VehicleId};

/// Whether the customer placed this order, whatever its status.
pub async fn is_order_of(conn: &mut Connection, company: CompanyId, customer: CustomerId, order: OrderId) -> Result<bool, sqlx::Error> {
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

/// A driver or vehicle that carries an order.
#[derive(Clone, Copy, Debug)]
pub enum Carrier {
    /// Compared with the `driver_id` of orders.
    Driver(DriverId),
    /// Compared with the `vehicle_id` of orders.
    Vehicle(VehicleId),
}

/// Whether the driver or vehicle carries an open order of the customer.
pub async fn is_served_by(conn: &mut Connection, company: CompanyId, customer: CustomerId, carrier: Carrier) -> Result<bool, sqlx::Error> {
    let (driver, vehicle) = match carrier {
        Carrier::Driver(id) => (Some(id.uuid()), None),
        Carrier::Vehicle(id) => (None, Some(id.uuid())),
    };
    sqlx::query_scalar!(
        r#"select exists (
             select from orders where customer_id = $1 and company_id = $2 and (driver_id = $3 or vehicle_id = $4)
                and deleted_at is null and status in ('created', 'dispatched', 'started')
           ) as "is_served!""#,
        customer.uuid(),
        company.uuid(),
        driver,
        vehicle,
    )
    .fetch_one(conn)
    .await
}
