//! Sending messages to customers: what every text and mail must pass before it is sent, and the notices of changes.

pub mod change_notice;
mod channel;
pub mod mail_limit;
pub mod send_limit;
pub mod sms_guard;

pub use channel::Channel;
