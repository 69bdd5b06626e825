//! What a recipient follows: the tracking number of an order, and each status it reached.
//!
//! Both come with the order they belong to, in its own transaction. The number can be changed, to that of a carrier; the order goes by
//! the new one from then on. Between the statuses that the order itself reaches, others can be recorded by hand (`at_the_depot`), which
//! say more of the way and change nothing about the order.
//!
//! What a recipient was told is a log: nothing of it is deleted, with the order neither. An order has one number from its beginning, so there
//! is no making of another either. Those routes answer `method_not_allowed` (decisions, section 9).

mod numbers;
mod statuses;
mod word;

pub use numbers::{TrackingNumber, generate_number};
pub use statuses::TrackingStatus;
