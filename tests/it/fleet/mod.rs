//! The records below `fleet/int/v1`.

mod delivery;
mod drivers;
mod fleets;
mod issues;
mod locations;
mod order_model;
mod order_statuses;
mod orders;
mod proofs;
mod tracking;
mod vehicles;
