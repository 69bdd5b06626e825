//! The request bodies that create and change orders.

use chrono::{DateTime, Utc};
use serde::Deserialize;

use crate::fleet::Fleet;
use crate::fleet::drivers::Driver;
use crate::fleet::orders::status::{Conditions, Status, TransitionError};
use crate::fleet::orders::{Order, documentation};
use crate::fleet::tracking;
use crate::fleet::vehicles::Vehicle;
use crate::kernel::ids::{CustomerId, DriverId, OrderId, VehicleId};
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode};
use crate::resources::{Editable, FieldDoc, Instant, Line, Member, Meta, New, Record, RecordTransaction, Reference, Text};

/// The fields of an order that requests may contain.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OrderBody {
    status: Member<Status>,
    #[serde(alias = "driver_uuid", alias = "driver_id", alias = "driver_assigned")]
    driver: Member<Option<Reference<DriverId>>>,
    customer: Member<Option<Reference<CustomerId>>>,
    vehicle: Member<Option<Reference<VehicleId>>>,
    payload: Member<Option<PayloadBody>>,
    #[serde(rename = "type")]
    kind: Member<Option<Line<50>>>,
    internal_id: Member<Option<Line<100>>>,
    notes: Member<Option<Text<2000>>>,
    scheduled_at: Member<Option<Instant>>,
    skip_dispatch: Member<bool>,
    meta: Member<Meta>,
}

/// The pickup and drop-off addresses.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct PayloadBody {
    pickup: Member<Option<Line<500>>>,
    dropoff: Member<Option<Line<500>>>,
}

impl OrderBody {
    /// Applies all fields to the order except the status, which is returned and checked afterwards.
    fn put(self, order: &mut Order) -> Member<Status> {
        self.driver.put_id_or_clear(&mut order.driver_id);
        self.customer.put_id_or_clear(&mut order.customer_id);
        self.vehicle.put_id_or_clear(&mut order.vehicle_id);
        if let Member::Sent(payload) = self.payload {
            let payload = payload.unwrap_or(PayloadBody { pickup: Member::Sent(None), dropoff: Member::Sent(None) });
            payload.pickup.put_or_clear(&mut order.pickup);
            payload.dropoff.put_or_clear(&mut order.dropoff);
        }
        self.kind.put_or_clear(&mut order.kind);
        self.internal_id.put_or_clear(&mut order.internal_id);
        self.notes.put_or_clear(&mut order.notes);
        self.scheduled_at.put_or_clear(&mut order.scheduled_at);
        self.skip_dispatch.put(&mut order.skip_dispatch);
        self.meta.put(&mut order.meta);
        self.status
    }
}

impl Order {
    /// Sets the status, if the transition is allowed, and records the time.
    fn go_to(&mut self, next: Status, now: DateTime<Utc>) -> Result<(), TransitionError> {
        let conditions = Conditions { has_driver: self.driver_id.is_some(), skip_dispatch: self.skip_dispatch };
        self.status.transition_to(next, conditions)?;
        self.status = next;
        match next {
            Status::Created => {}
            Status::Dispatched => self.dispatched_at = Some(now),
            Status::Started => self.started_at = Some(now),
            Status::Completed => self.completed_at = Some(now),
            Status::Cancelled => self.cancelled_at = Some(now),
            Status::Failed => self.failed_at = Some(now),
        }
        Ok(())
    }
}

impl Editable for Order {
    type Body = OrderBody;

    fn documented_fields() -> Vec<FieldDoc> {
        documentation::members()
    }

    async fn create(transaction: &mut RecordTransaction<Fleet>, _: OrderId, body: OrderBody) -> Result<New<Self>, Problem> {
        let mut order = Self { tracking_number: tracking::generate_number(), ..Self::default() };
        match body.put(&mut order) {
            Member::Missing | Member::Sent(Status::Created) => {}
            Member::Sent(_) => return Err(Problem::new(ProblemCode::TransitionInvalid).detail("A new order must have the status created.")),
        }
        check_driver(transaction, None, &order).await?;
        check_vehicle(transaction, None, &order).await?;
        Ok(order.into())
    }

    async fn change(transaction: &mut RecordTransaction<Fleet>, before: &Record<Self>, body: OrderBody) -> Result<Self, Problem> {
        let mut order = before.fields.clone();
        let status = body.put(&mut order);
        check_driver(transaction, Some(&before.fields), &order).await?;
        check_vehicle(transaction, Some(&before.fields), &order).await?;
        if let Member::Sent(next) = status
            && next != order.status
        {
            order.go_to(next, transaction.now)?;
        }
        Ok(order)
    }
}

/// Checks a new driver: the order must be open, the driver must exist, and a dispatched order cannot lose its driver.
async fn check_driver(transaction: &mut RecordTransaction<Fleet>, before: Option<&Order>, order: &Order) -> Result<(), Problem> {
    let before = before.and_then(|before| before.driver_id);
    if before == order.driver_id {
        return Ok(());
    }
    if !order.status.is_open() {
        return Err(FieldErrors::one("driver", "The order is closed; its driver cannot change."));
    }
    if order.driver_id.is_none() && order.dispatched_at.is_some() {
        return Err(FieldErrors::one("driver", "The order was dispatched; its driver can be replaced but not removed."));
    }
    transaction.lock_reference::<Driver>("driver", before, order.driver_id).await
}

/// Checks that a newly referenced vehicle exists.
async fn check_vehicle(transaction: &mut RecordTransaction<Fleet>, before: Option<&Order>, order: &Order) -> Result<(), Problem> {
    transaction.lock_reference::<Vehicle>("vehicle", before.and_then(|before| before.vehicle_id), order.vehicle_id).await
}
