//! The mailbox of development and tests: every text and mail, newest first, so that a newcomer signs in without any provider.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, Utc};
use serde::Serialize;

use crate::kernel::clock;

/// Messages kept; older ones fall out.
const CAPACITY: usize = 500;

/// How a message travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// A text.
    Sms,
    /// A mail.
    Email,
}

/// One message as it was sent.
#[derive(Clone, Serialize)]
pub struct Kept {
    /// How it travelled.
    pub channel: Channel,
    /// The number or address.
    pub to: String,
    /// A mail's subject.
    pub subject: Option<String>,
    /// What it says.
    pub text: String,
    /// A mail's HTML.
    pub html: Option<String>,
    /// The verification code in it.
    pub code: Option<String>,
    /// When it was sent.
    #[serde(serialize_with = "clock::as_timestamp")]
    pub sent_at: DateTime<Utc>,
}

/// Keeps messages in memory. Clones share them.
#[derive(Clone, Default)]
pub struct Mailbox(Arc<Mutex<VecDeque<Kept>>>);

/// Codes stand in it.
impl std::fmt::Debug for Mailbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Mailbox(…)")
    }
}

impl Mailbox {
    pub(super) fn keep(&self, message: Kept) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_front(message);
        kept.truncate(CAPACITY);
    }

    /// Every message kept, newest first.
    pub fn messages(&self) -> Vec<Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}
