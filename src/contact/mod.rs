//! Contact details: phone numbers and email addresses, each normalized to one spelling.
//!
//! An [`Identity`] is one of the two. Accounts, codes and limits are stored under its [`Identity::key`], so all spellings of one
//! number or address are one identity with one limit (`docs/specification/decisions.md`, section 3).

mod blank;
mod email;
mod identity;
mod phone;

pub use blank::is_blank;
pub use email::{EmailAddress, InvalidEmailAddress};
pub use identity::{Identity, InvalidIdentity};
pub use phone::{InvalidPhoneNumber, Line, PhoneNumber};
