//! The mailbox of development and tests: it stores every text and mail in memory, newest first, so that developers can sign in
//! without a provider.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, Utc};
use serde::Serialize;

use crate::kernel::clock;

/// The maximum number of messages. Older ones are evicted.
const CAPACITY: usize = 500;

/// How a message is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// A text.
    Sms,
    /// A mail.
    Email,
}

/// A message as it was sent.
#[derive(Clone, Serialize)]
pub struct CapturedMessage {
    /// Counts the messages of this process, from 1.
    pub number: u64,
    /// How the message was sent.
    pub channel: Channel,
    /// The phone number or email address of the recipient.
    pub to: String,
    /// The subject of a mail.
    pub subject: Option<String>,
    /// The body as plain text.
    pub text: String,
    /// The body of a mail as HTML.
    pub html: Option<String>,
    /// The verification code in the message.
    pub code: Option<String>,
    /// When the message was sent.
    #[serde(serialize_with = "clock::as_timestamp")]
    pub sent_at: DateTime<Utc>,
}

/// Stores messages in memory. Clones share them.
#[derive(Clone, Default)]
pub struct Mailbox(Arc<Mutex<VecDeque<CapturedMessage>>>);

/// A message that is about to be stored.
pub(super) struct Captured {
    pub(super) channel: Channel,
    pub(super) to: String,
    pub(super) subject: Option<String>,
    pub(super) text: String,
    pub(super) html: Option<String>,
    pub(super) code: Option<String>,
    pub(super) sent_at: DateTime<Utc>,
}

/// The output omits the messages, because they contain codes.
impl std::fmt::Debug for Mailbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Mailbox(…)")
    }
}

impl Mailbox {
    pub(super) fn capture(&self, message: Captured) {
        let Captured { channel, to, subject, text, html, code, sent_at } = message;
        let mut messages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = messages.front().map_or(1, |last| last.number + 1);
        messages.push_front(CapturedMessage { number, channel, to, subject, text, html, code, sent_at });
        messages.truncate(CAPACITY);
    }

    /// All stored messages, newest first.
    pub fn messages(&self) -> Vec<CapturedMessage> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}
