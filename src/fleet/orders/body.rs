//! How request bodies create and change orders.

use std::mem::take;

use chrono::{DateTime, Utc};

use crate::fleet::Fleet;
use crate::fleet::orders::status::{Conditions, Status, TransitionError};
use crate::fleet::orders::{Order, OrderBody, ShipmentNumber};
use crate::kernel::ids::OrderId;
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode};
use crate::resources::{Editable, Fields, Member, New, Record, RecordTransaction};

/// Applies all fields of a body to an order except the status, which is returned and checked afterwards.
fn applied(mut body: OrderBody, put: impl FnOnce(OrderBody) -> Result<Order, Problem>) -> Result<(Order, Member<Status>), Problem> {
    let (status, payload) = (take(&mut body.status), take(&mut body.payload));
    let mut order = put(body)?;
    if let Member::Sent(payload) = payload {
        payload.put(&mut order);
    }
    Ok((order, status))
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

    /// Checks a new driver: the order must be open, and a dispatched order cannot lose its driver.
    fn check_driver(&self, before: &Self) -> Result<(), Problem> {
        if before.driver_id == self.driver_id {
            return Ok(());
        }
        if !self.status.is_open() {
            return Err(FieldErrors::one("driver", "The order is closed; its driver cannot change."));
        }
        if self.driver_id.is_none() && self.dispatched_at.is_some() {
            return Err(FieldErrors::one("driver", "The order was dispatched; its driver can be replaced but not removed."));
        }
        Ok(())
    }
}

impl Editable for Order {
    type Body = OrderBody;

    async fn create(transaction: &mut RecordTransaction<Fleet>, _: OrderId, body: OrderBody) -> Result<New<Self>, Problem> {
        let (mut order, status) = applied(body, Self::created_by)?;
        order.tracking_number = ShipmentNumber::generate().into();
        match status {
            Member::Missing | Member::Sent(Status::Created) => {}
            Member::Sent(_) => return Err(Problem::new(ProblemCode::TransitionInvalid).detail("A new order must have the status created.")),
        }
        let company = transaction.caller.company;
        order.lock_references(None, transaction.conn(), company).await?;
        Ok(order.into())
    }

    async fn change(transaction: &mut RecordTransaction<Fleet>, before: &Record<Self>, body: OrderBody) -> Result<Self, Problem> {
        let before = &before.fields;
        let (mut order, status) = applied(body, |body| Ok(before.changed_by(body)))?;
        order.check_driver(before)?;
        let company = transaction.caller.company;
        order.lock_references(Some(before), transaction.conn(), company).await?;
        if let Member::Sent(next) = status
            && next != order.status
        {
            order.go_to(next, transaction.now)?;
        }
        order.check_service(before, transaction).await?;
        Ok(order)
    }
}
