//! The engine: the steps that move deliveries, each beside its SQL, and the worker that takes them.
//!
//! A delivery is in one of three tables: `waiting`, `in_flight` or `deliveries`. Every statement that moves deliveries of an
//! endpoint locks the row of the endpoint first, and the rows of several endpoints in the order of their ids. Two moves of one
//! delivery therefore never overlap, and no deadlock occurs. A statement that also reads subscriptions locks them before their
//! endpoints. The waiting deliveries that are cancelled together with their endpoint are closed without this lock: they can no
//! longer be claimed.
//!
//! Deliveries of a chain have to be made in order. At most one of them is in a lane or in flight; the others wait behind it,
//! outside the lanes. Triggers of `waiting` and `in_flight` put the next one into a lane, whatever ends the one before. They run at
//! the end of the statement, where they see what other transactions did before this one had the lock.

/// Declares the row of a statement that takes deliveries into flight: its own columns, and those of a delivery unless none was taken,
/// from which `claimed_row` builds.
macro_rules! claiming_row {
    ($($(#[$doc:meta])* $name:ident: $type:ty,)*) => {
        #[derive(Debug)]
        struct Row {
            $($(#[$doc])* $name: $type,)*
            delivery: Option<crate::kernel::ids::DeliveryId>,
            company: Option<crate::kernel::ids::CompanyId>,
            subscription: Option<crate::kernel::ids::SubscriptionId>,
            event: Option<crate::kernel::ids::EventId>,
            event_name: Option<String>,
            sequence: Option<i64>,
            version: Option<i64>,
            body: Option<Vec<u8>>,
        }
    };
}

/// Builds a [`ClaimedRow`](crate::webhooks::engine::claim::ClaimedRow) from a row; `None` if the row has no delivery, as the single
/// row of a statement that claimed none.
macro_rules! claimed_row {
    ($row:ident, $number:expr, $failures:expr, $in_order:expr, $is_replay:expr) => {
        (|| {
            Some(crate::webhooks::engine::claim::ClaimedRow {
                delivery: $row.delivery?,
                company: $row.company?,
                subscription: $row.subscription?,
                event: $row.event?,
                event_name: $row.event_name?,
                sequence: $row.sequence,
                number: $number,
                failures: $failures,
                in_order: $in_order,
                is_replay: $is_replay,
                version: $row.version?,
                body: $row.body,
            })
        })()
    };
}

pub mod address;
pub mod attempts;
pub mod cancel;
pub mod claim;
pub mod endpoints;
pub mod fan_out;
pub mod figures;
pub mod record;
pub mod refill;
pub mod vacuum;
