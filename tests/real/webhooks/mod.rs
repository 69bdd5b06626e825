//! Deliveries beside name servers, processes and languages that are real.

mod crashes;
mod faults;
mod look_ups;
mod verifying;
