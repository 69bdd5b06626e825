//! The flows of accounts: the steps behind the routes of customers.

pub mod closure;
mod code_body;
pub mod contact_change;
pub mod devices;
pub mod export;
mod in_flight;
pub mod password_reset;
pub mod profile;
pub mod registration;
pub mod sessions;
pub mod sign_in;
mod signed_in;
pub mod social;
