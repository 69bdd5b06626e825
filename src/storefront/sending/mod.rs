//! Sending messages to customers: what every text and mail must pass before it is sent, and the notices of what happened to an account.

mod channel;
pub mod mail_limit;
pub mod notices;
pub mod send_limit;
pub mod sms_guard;

pub use channel::Channel;
