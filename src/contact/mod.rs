//! How a person is reached: phone numbers and email addresses, each with one spelling, whatever was typed.
//!
//! An [`Identity`] is one or the other. Its [`Identity::key`] is what accounts, codes and limits are kept under, so every spelling of
//! one number or mailbox is one identity and one limit (decisions, section 3).

mod email;
mod identity;
mod phone;

pub use email::{EmailAddress, NotAnEmail};
pub use identity::{Identity, NotAnIdentity};
pub use phone::{Line, NotAPhoneNumber, PhoneNumber};
