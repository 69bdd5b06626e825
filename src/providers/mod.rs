//! The outside world: one plain client for each outside service. They know wire formats and nothing of what they are used for.

pub mod mail;
pub mod mailbox;
pub mod sms;
