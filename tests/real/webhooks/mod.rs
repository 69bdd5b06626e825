//! Deliveries beside name servers, processes, languages and long transactions that are real.

mod crashes;
mod faults;
mod long_transactions;
mod look_ups;
mod verifying;
