//! The SQL of the engine, a file for each step of a delivery.
//!
//! A delivery is in one of three tables: `waiting`, `in_flight` or `deliveries`. Every statement that moves deliveries of an endpoint
//! locks the endpoint's row first, and rows of several endpoints in the order of their ids: so no two moves of one delivery meet, and
//! nobody waits in a circle. Who also looks at subscriptions locks them before their endpoints. What is called off with its endpoint is
//! closed without that lock: nobody claims it any more.
//!
//! Of the deliveries of a chain, which have to be made in order, one is in a lane or in flight; the others wait in none, behind it. The database
//! itself lets the next one go ahead, whatever ends the one before: triggers of `waiting` and `in_flight`, at the end of the statement, where
//! they see what others did before this one had the lock.

/// What a row tells of a delivery that was taken into flight; `None` when it tells of none, as the one row of a statement that took none.
macro_rules! taken {
    ($row:ident, $number:expr, $failures:expr, $in_order:expr, $is_replay:expr) => {
        (|| {
            Some(crate::webhooks::claim::Taken {
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

mod claim;
mod fan_out;
mod log;
mod reclaim;
mod record;

pub(super) use claim::{Limits, claim_due, find_endpoints};
pub(super) use fan_out::fan_out;
pub(super) use log::{find_body, list_attempts};
pub(super) use reclaim::release_expired;
pub(super) use record::record_attempts;
