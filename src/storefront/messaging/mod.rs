//! Messages to customers: their wording, their limits, and the notices of changes.

pub(super) mod change_notice;
pub(super) mod mail_limit;
pub(super) mod messages;
pub(super) mod send_limit;
pub(super) mod sms_guard;
