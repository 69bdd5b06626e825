//! Sending messages to customers: what every text and mail must pass before it is sent, and the notices of changes.

pub mod change_notice;
mod channel;
pub mod mail_limit;
pub mod send_limit;
mod text_number;

pub use channel::Channel;
pub use text_number::read_number;
