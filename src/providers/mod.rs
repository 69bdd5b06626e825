//! Clients of external services, one per service. They implement wire formats and contain no business logic.

mod address;
mod body;
pub mod card;
pub mod identity;
pub mod mail;
pub mod mailbox;
mod reach;
mod route_name;
pub mod sms;

pub use reach::{NoResponse, reach};
pub use route_name::{InvalidRouteName, RouteName};

/// `[providers]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// `[providers.idp_a]`
    pub idp_a: identity::IdpASettings,
    /// `[providers.idp_b]`
    pub idp_b: identity::IdpBSettings,
    /// `[providers.idp_c]`
    pub idp_c: identity::IdpCSettings,
    /// `[providers.card]`
    pub card: card::Settings,
}
