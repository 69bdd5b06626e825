//! Callers: who asks for something on behalf of a company, and what they may do.
//!
//! A use case takes a [`Caller`], however the request came in. Over HTTP, [`crate::companies`] makes one from an API key. The role of
//! an operator yields a grant too ([`crate::operators`]). The command line and the service's own work may do everything. Every change
//! is therefore made by somebody, and the audit trail says by whom.
//!
//! Nobody hands out more than they have: whatever lets somebody in is compared with its giver by [`Caller::must_cover`].
//!
//! # Rooms
//!
//! From top to bottom; a room uses only rooms below it.
//!
//! ```text
//! caller                    who asks, for which company, with which grant
//! grant                     what a caller may do, and how one grant exceeds another
//! reach   allowed_networks  the other parts of a grant: how far it goes in each area, and from where
//! permissions               all that something reaches, which a grant is compared with
//! party                     whose share of a company's requests something takes
//! owner                     whose records alone it reaches
//! scopes                    what is allowed
//! area                      the parts of a company's data
//! ```

mod allowed_networks;
mod area;
mod caller;
mod grant;
mod owner;
mod party;
mod permissions;
mod reach;
mod scopes;

pub use allowed_networks::{AllowedNetworks, InvalidNetworks};
pub use area::Area;
pub use caller::{Caller, Who};
pub use grant::{Escalation, Grant};
pub use owner::{InvalidOwner, MAX_OWNER, Owner};
pub use party::Party;
pub use permissions::Permissions;
pub use reach::Reach;
pub use scopes::{InvalidScope, Scope, Scopes};
