//! The console: decisions, section 9.

mod browser;
mod hostile;
mod records;
mod roles;
mod searching;
mod sign_in;
mod webhooks;
