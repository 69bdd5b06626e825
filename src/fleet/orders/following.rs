//! The records that a customer may see and subscribe to on the socket: their orders, and the drivers and vehicles of the open ones.
//!
//! An order is a customer's if it names the customer, or if it names nobody and has a contact that the customer has proven: then it was placed
//! without an account, and whoever reads that mailbox or number has placed it.

use chrono::{DateTime, Utc};

use crate::contact::{EmailAddress, PhoneNumber};
use crate::fleet::orders::status::Status;
use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, CustomerId, DriverId, OrderId, VehicleId};
use crate::resources::Cursor;

/// A customer who follows orders of the company.
#[derive(Clone, Debug)]
pub struct Follower {
    /// The company of the orders.
    pub company: CompanyId,
    /// Whom an order of an account names.
    pub customer: CustomerId,
    /// The address that the customer has proven.
    pub email: Option<EmailAddress>,
    /// The number that the customer has proven.
    pub phone: Option<PhoneNumber>,
}

impl Follower {
    /// What `lower(contact_email)` is compared with.
    fn email_key(&self) -> Option<String> {
        self.email.as_ref().map(EmailAddress::key)
    }

    /// What `contact_phone` is compared with.
    fn phone(&self) -> Option<&str> {
        self.phone.as_ref().map(PhoneNumber::as_str)
    }

    /// Whether the order is the customer's, whatever its status.
    pub async fn has_order(&self, conn: &mut Connection, order: OrderId) -> Result<bool, sqlx::Error> {
        sqlx::query_scalar!(
            r#"select exists (
                 select from orders where id = $1 and company_id = $2 and deleted_at is null
                    and (customer_id = $3 or customer_id is null and (lower(contact_email) = $4 or contact_phone = $5))
               ) as "is_own!""#,
            order.uuid(),
            self.company.uuid(),
            self.customer.uuid(),
            self.email_key(),
            self.phone(),
        )
        .fetch_one(conn)
        .await
    }

    /// Whether the driver or vehicle carries an open order of the customer.
    pub async fn is_served_by(&self, conn: &mut Connection, carrier: Carrier) -> Result<bool, sqlx::Error> {
        let (driver, vehicle) = match carrier {
            Carrier::Driver(id) => (Some(id.uuid()), None),
            Carrier::Vehicle(id) => (None, Some(id.uuid())),
        };
        sqlx::query_scalar!(
            r#"select exists (
                 select from orders where customer_id = $1 and company_id = $2 and (driver_id = $3 or vehicle_id = $4)
                    and deleted_at is null and status in ('created', 'dispatched', 'started')
                 union all
                 select from orders where lower(contact_email) = $5 and company_id = $2 and (driver_id = $3 or vehicle_id = $4)
                    and deleted_at is null and customer_id is null and status in ('created', 'dispatched', 'started')
                 union all
                 select from orders where contact_phone = $6 and company_id = $2 and (driver_id = $3 or vehicle_id = $4)
                    and deleted_at is null and customer_id is null and status in ('created', 'dispatched', 'started')
               ) as "is_served!""#,
            self.customer.uuid(),
            self.company.uuid(),
            driver,
            vehicle,
            self.email_key(),
            self.phone(),
        )
        .fetch_one(conn)
        .await
    }

    /// The customer's orders, newest first, at most `limit` of them, after the one where the page before ended.
    pub async fn list_orders(&self, conn: &mut Connection, after: Option<Cursor>, limit: i64) -> Result<Vec<FollowedOrder>, sqlx::Error> {
        sqlx::query_as!(
            FollowedOrder,
            r#"select id as "id!: OrderId", customer_id is not null as "is_of_account!", internal_id, kind, status as "status!: Status",
                    tracking_number as "tracking_number!", pickup, dropoff, driver_id as "driver_id: DriverId",
                    vehicle_id as "vehicle_id: VehicleId", scheduled_at, dispatched_at, started_at, completed_at, cancelled_at, failed_at,
                    created_at as "created_at!", updated_at as "updated_at!"
               from (
                 (select * from orders where company_id = $1 and customer_id = $2 and deleted_at is null
                     and (created_at, id) < (coalesce($5::timestamptz, 'infinity'), coalesce($6::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
                  order by created_at desc, id desc limit $7)
                 union all
                 (select * from orders where company_id = $1 and customer_id is null and lower(contact_email) = $3 and deleted_at is null
                     and (created_at, id) < (coalesce($5::timestamptz, 'infinity'), coalesce($6::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
                  order by created_at desc, id desc limit $7)
                 union all
                 (select * from orders where company_id = $1 and customer_id is null and contact_phone = $4 and deleted_at is null
                     and ($3::text is null or lower(contact_email) is distinct from $3)
                     and (created_at, id) < (coalesce($5::timestamptz, 'infinity'), coalesce($6::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
                  order by created_at desc, id desc limit $7)
               ) as own
               order by created_at desc, id desc
               limit $7"#,
            self.company.uuid(),
            self.customer.uuid(),
            self.email_key(),
            self.phone(),
            after.map(|after| after.at),
            after.map(|after| after.id),
            limit,
        )
        .fetch_all(conn)
        .await
    }
}

/// An order as its customer sees it.
#[derive(Clone, Debug)]
pub struct FollowedOrder {
    /// The id of the order.
    pub id: OrderId,
    /// Whether it names the customer, and not only a contact of theirs.
    pub is_of_account: bool,
    /// The shop's own id.
    pub internal_id: Option<String>,
    /// The type of the order.
    pub kind: Option<String>,
    /// The status.
    pub status: Status,
    /// What the recipient tracks it with.
    pub tracking_number: String,
    /// The pickup address.
    pub pickup: Option<String>,
    /// The drop-off address.
    pub dropoff: Option<String>,
    /// The driver who carries it.
    pub driver_id: Option<DriverId>,
    /// The vehicle that carries it.
    pub vehicle_id: Option<VehicleId>,
    /// When it should be carried.
    pub scheduled_at: Option<DateTime<Utc>>,
    /// When it was dispatched.
    pub dispatched_at: Option<DateTime<Utc>>,
    /// When the trip started.
    pub started_at: Option<DateTime<Utc>>,
    /// When it was delivered.
    pub completed_at: Option<DateTime<Utc>>,
    /// When it was cancelled.
    pub cancelled_at: Option<DateTime<Utc>>,
    /// When the delivery failed.
    pub failed_at: Option<DateTime<Utc>>,
    /// When it was placed.
    pub created_at: DateTime<Utc>,
    /// When it was last changed.
    pub updated_at: DateTime<Utc>,
}

/// A driver or vehicle that carries an order.
#[derive(Clone, Copy, Debug)]
pub enum Carrier {
    /// Compared with the `driver_id` of orders.
    Driver(DriverId),
    /// Compared with the `vehicle_id` of orders.
    Vehicle(VehicleId),
}
