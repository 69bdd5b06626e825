//! Who a text is for.

use crate::contact::PhoneNumber;

/// The number that a text is for, and whose it is.
#[derive(Clone, Debug)]
pub struct Recipient {
    pub number: PhoneNumber,
    pub standing: Standing,
}

/// What an account has to do with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The account that the text is for has proven it.
    Proven,
    /// The same, and the text is a notice. Notices have a limit of their own: a thief who asks for codes must not use up those of the number.
    Told,
    /// Whoever asks for the text says that it is theirs.
    Stranger,
    /// The account that the text is for lists it and has not proven it. It may belong to a stranger, who must not get into the account
    /// by reading its texts.
    Unproven,
}

impl Recipient {
    /// A customer, at the number that their account has proven.
    pub fn proven(number: PhoneNumber) -> Self {
        Self { number, standing: Standing::Proven }
    }

    /// A customer who is told of something, at the number that their account has proven.
    pub fn told(number: PhoneNumber) -> Self {
        Self { number, standing: Standing::Told }
    }

    /// Somebody who claims the number.
    pub fn stranger(number: PhoneNumber) -> Self {
        Self { number, standing: Standing::Stranger }
    }

    pub(super) fn is_stranger(&self) -> bool {
        self.standing == Standing::Stranger
    }
}
