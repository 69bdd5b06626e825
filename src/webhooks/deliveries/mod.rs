//! Deliveries: what becomes of one, and the log that shows them.

pub(super) mod log;
mod queries;
pub(super) mod state;
