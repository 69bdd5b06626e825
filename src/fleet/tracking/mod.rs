//! What a recipient follows: the tracking number of an order, and each status it reached.
//!
//! Both are written with the order they belong to, by its own transaction, and only read from outside.

mod numbers;
mod statuses;

pub use numbers::{TrackingNumber, generate_number};
pub use statuses::TrackingStatus;
