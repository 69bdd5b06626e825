//! The console: decisions, section 9.

mod browser;
mod hostile;
mod live;
mod records;
mod roles;
mod scripts;
mod searching;
mod sign_in;
mod style;
mod webhooks;
