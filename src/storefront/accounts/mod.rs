//! The flows of accounts: the steps behind the routes of customers.

pub(super) mod closure;
pub(super) mod contact_change;
pub(super) mod devices;
pub(super) mod export;
pub(super) mod password_reset;
pub(super) mod profile;
pub(super) mod registration;
pub(super) mod sessions;
pub(super) mod sign_in;
pub(super) mod social;
