//! Deliveries: their states and the retry schedule, and the delivery log.

pub(super) mod log;
mod queries;
pub(super) mod state;
