//! The console: decisions, section 9.

mod hostile;
mod records;
mod roles;
mod sign_in;
mod webhooks;
