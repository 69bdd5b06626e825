//! A phone number or an email address, which a customer signs in with.

use crate::contact::{EmailAddress, PhoneNumber};

/// A phone number or an email address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// An identity that receives texts.
    Phone(PhoneNumber),
    /// An identity that receives mails.
    Email(EmailAddress),
}

/// The text is neither a phone number nor an email address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("This is neither a valid phone number (with its country code) nor a valid email address.")]
pub struct InvalidIdentity;

impl Identity {
    /// Parses either of the two. Text with an `@` can only be an email address.
    pub fn parse(text: &str) -> Result<Self, InvalidIdentity> {
        if text.contains('@') {
            EmailAddress::parse(text).map(Self::Email).map_err(|_| InvalidIdentity)
        } else {
            PhoneNumber::parse(text).map(Self::Phone).map_err(|_| InvalidIdentity)
        }
    }

    /// The normalized spelling, which accounts, codes and limits are stored under.
    pub fn key(&self) -> String {
        match self {
            Self::Phone(phone) => phone.as_str().to_owned(),
            Self::Email(email) => email.key(),
        }
    }
}
