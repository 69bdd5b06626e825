//! A mail as it is handed over: its headers, and its body as plain text and as a page.

use lettre::message::header::{Header, HeaderName, HeaderValue};
use lettre::message::{Mailbox as Party, MultiPart, SinglePart};
use lettre::{Address, Message};

use crate::kernel::ids::uuid_v7;
use crate::providers::mail::{Letter, SendMailError};

pub(super) fn message(from: &Party, letter: &Letter<'_>) -> Result<Message, SendMailError> {
    let to: Address = letter.to.as_str().parse().map_err(SendMailError::not_taken)?;
    let id = format!("<{}@{}>", uuid_v7(letter.at).simple(), from.email.domain());
    let builder = Message::builder().from(from.clone()).to(Party::new(None, to)).subject(letter.subject);
    let builder = builder.message_id(Some(id)).header(AutoSubmitted);
    let message = match letter.html {
        Some(html) => builder.multipart(MultiPart::alternative_plain_html(letter.text.to_owned(), html.to_owned())),
        None => builder.singlepart(SinglePart::plain(letter.text.to_owned())),
    };
    message.map_err(SendMailError::not_taken)
}

/// Says that a program sent the mail, so that no program answers it (RFC 3834, section 5).
#[derive(Clone, Debug)]
struct AutoSubmitted;

impl Header for AutoSubmitted {
    fn name() -> HeaderName {
        HeaderName::new_from_ascii_str("Auto-Submitted")
    }

    fn parse(_: &str) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Self)
    }

    fn display(&self) -> HeaderValue {
        HeaderValue::new(Self::name(), "auto-generated".to_owned())
    }
}
