//! The flows of accounts: the steps behind the routes of customers.

pub mod bans;
pub mod change_password;
pub mod closure;
mod code_body;
pub mod contact_change;
pub mod devices;
pub mod ending;
pub mod erasure;
pub mod export;
mod failed_proof;
mod in_flight;
mod known_devices;
mod new_password;
mod own_code;
mod own_password;
pub mod passkeys;
pub mod password_reset;
pub mod profile;
pub mod registration;
mod review;
pub mod sessions;
pub mod sign_in;
mod signed_in;
pub mod social;
pub mod step_up;
pub mod take_back;
mod ways_in;
