//! The portal: how one of the company's own customers gets to the webhooks that are theirs (`docs/portal.md`).
//!
//! A company names its customers in the field `owner` of webhooks and events. It makes a [`PortalLink`] for an owner and hands it out,
//! usually as the address of a frame in its own pages. Opening the link begins a session in that browser. The session yields a
//! [`Caller`](crate::callers::Caller) whose grant is restricted to this owner: the routes that such a caller reaches keep to the owner in
//! their statements, and all others refuse ([`Caller::require`](crate::callers::Caller::require)).
//!
//! Writes `portal_links` and `portal_sessions`. The pages are in [`crate::console`].
//!
//! # What is guaranteed
//!
//! * The key of a link and the token of a session are random, shown once and stored as digests.
//! * A session ends when it is idle, when it is old, and with the next request after its link was revoked.
//! * A link allows no more than its maker, is used from no other networks, and neither it nor its sessions last longer
//!   ([`Caller::must_cover`](crate::callers::Caller::must_cover)). That is so whatever becomes of the maker afterwards.
//! * A link takes the place of a session of another owner only if somebody has said so ([`Portal::would_replace`]).
//!
//! # Rooms
//!
//! From top to bottom; a room uses only rooms below it.
//!
//! ```text
//! links      sessions   links as a resource; browsers in which one is open
//! queries               the SQL of sessions
//! makers                who has made a link, and ends it
//! state                 the pool, the clock, the settings
//! access                what a visitor can do
//! secrets    theme      keys and tokens; what the portal looks like
//! ```

mod access;
mod links;
mod makers;
mod queries;
mod secrets;
mod sessions;
mod state;
mod theme;

use axum::extract::FromRef;

use crate::companies::Companies;
use crate::resources::Extension;

pub use links::{Lifetime, PortalLink};
pub use secrets::{LinkKey, SessionToken};
pub use sessions::{LiveSession, OpenRefusal};
pub use state::{Portal, Settings};
pub use theme::{Accent, ColorScheme, InvalidAccent, Radius, Theme};

/// The routes of portal links below `developers/int/v1`.
pub fn extension<S>() -> Extension<S>
where
    Portal: FromRef<S>,
    Companies: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    Extension::new("developers").editable::<PortalLink>()
}
