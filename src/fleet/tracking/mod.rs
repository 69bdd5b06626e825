//! Tracking for recipients: the tracking number of an order, and each status it reached.
//!
//! Both are created in the transaction of the order. The number can be replaced by that of a carrier; the order then has the new
//! number. Between the statuses that the order itself reaches, others can be recorded manually (`at_the_depot`). They describe the
//! journey and do not change the order.
//!
//! The statuses are a log of what the recipient could see. They are never deleted, not even with their order. An order has exactly one
//! number, so none can be created. The corresponding routes return `method_not_allowed` (`docs/specification/decisions.md`, section 9).

mod numbers;
mod statuses;
mod word;

pub use numbers::TrackingNumber;
pub use statuses::TrackingStatus;
