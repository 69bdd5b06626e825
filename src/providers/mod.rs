//! Clients of external services, one per service. They implement wire formats and contain no business logic.

mod address;
mod body;
pub mod breached_passwords;
pub mod card;
pub mod challenge;
pub mod hook;
pub mod identity;
pub mod mail;
pub mod mailbox;
mod outgoing;
mod reach;
mod route_name;
mod settings;
pub mod sms;

pub use body::{ReadError, read_up_to};
pub use outgoing::{reading_kindly, send};
pub use reach::{NoResponse, reach};
pub use route_name::{InvalidRouteName, RouteName};
pub use settings::{OWN_SECTIONS, Settings};
