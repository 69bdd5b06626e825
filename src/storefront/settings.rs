//! The settings of the storefront, and the times that follow from them.

use std::num::NonZeroU32;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use ipnet::IpNet;

use crate::kernel::settings;
use crate::kernel::web_origin::WebOrigin;
use crate::providers::breached_passwords::BreachedSource;
use crate::providers::challenge;

/// The SMS guard counts the texts to a number for a day, even if its account is closed in the meantime.
const MIN_ERASE_AFTER: TimeDelta = TimeDelta::days(1);
/// A thousand years: longer than any sensible setting, and within the range of Postgres.
const LONGEST_LIFETIME: TimeDelta = TimeDelta::days(365_000);

/// `[storefront]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The time without a request after which a session expires.
    #[serde(deserialize_with = "settings::time")]
    pub token_lifetime: Duration,
    /// The time after the sign-in at which a session ends however much it is used.
    #[serde(deserialize_with = "settings::time")]
    pub session_lifetime: Duration,
    /// Live sessions of one customer. With a further one, the one that was not used for the longest time ends.
    pub sessions_per_customer: NonZeroU32,
    /// The time after a proof of the customer in which a session may change what opens the account.
    #[serde(deserialize_with = "settings::time")]
    pub fresh_for: Duration,
    /// The time after the closure of an account at which its personal fields and its personal data in the logs are blanked. At
    /// least one day.
    #[serde(with = "humantime_serde")]
    pub erase_after: Duration,
    /// Whether a login response also contains the customer's fields at its top level, for clients that read them there.
    pub flat_login: bool,
    /// Requests per minute for one store key and client address, and for one client address with unknown store keys.
    pub requests_per_minute: NonZeroU32,
    /// Mails with codes that one store sends to one mailbox within 24 hours when strangers ask for them, and as many when the customer does.
    pub daily_mails_per_customer: NonZeroU32,
    /// Those of them that anybody may cause: for registrations and changes of address.
    pub daily_mails_per_mailbox: NonZeroU32,
    /// Wrong codes and passwords of one client address, over all customers of a store, within fifteen minutes.
    pub failures_per_address: NonZeroU32,
    /// Texts that all stores together send to one number within 24 hours.
    pub daily_texts_per_number: u32,
    /// How long no text is sent to a number after a provider has reported that it cannot receive any.
    #[serde(with = "humantime_serde")]
    pub unreachable_for: Duration,
    /// Card set-up intents of one customer within an hour.
    pub card_setups_per_customer: NonZeroU32,
    /// Card set-up intents for one client address within an hour.
    pub card_setups_per_address: NonZeroU32,
    /// `[storefront.access_tokens]`
    pub access_tokens: AccessTokenSettings,
    /// Where the list of breached passwords is, which new ones are looked up in.
    #[serde(deserialize_with = "settings::optional")]
    pub breached_passwords: Option<BreachedSource>,
    /// `[storefront.challenge]`
    pub challenge: challenge::Settings,
    /// `[storefront.allowed_networks]`
    pub allowed_networks: OpenedNetworks,
}

/// `[storefront.allowed_networks]`: non-public networks that addresses of companies may be in, for each kind of address.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenedNetworks {
    /// Registration hooks.
    #[serde(deserialize_with = "settings::list")]
    pub registration_hooks: Vec<IpNet>,
    /// The keys and the other addresses of identity providers.
    #[serde(deserialize_with = "settings::list")]
    pub identity_providers: Vec<IpNet>,
    /// Message providers that are asked over HTTPS: `http` and `webhook`.
    #[serde(deserialize_with = "settings::list")]
    pub message_providers: Vec<IpNet>,
    /// The mail servers of message providers: `smtp`.
    #[serde(deserialize_with = "settings::list")]
    pub mail_servers: Vec<IpNet>,
}

impl OpenedNetworks {
    /// Opens a network to addresses of every kind, for development.
    pub fn open_to_all(&mut self, network: IpNet) {
        for list in [&mut self.registration_hooks, &mut self.identity_providers, &mut self.message_providers, &mut self.mail_servers] {
            list.push(network);
        }
    }
}

/// `[storefront.access_tokens]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessTokenSettings {
    /// The origin at which services reach `/storefront/v1`. Without it there are no access tokens.
    #[serde(deserialize_with = "settings::optional")]
    pub issuer: Option<WebOrigin>,
    /// The validity of a token. It outlives a session that is ended by so long at most, and one that expires not at all.
    #[serde(deserialize_with = "settings::seconds")]
    pub lifetime: Duration,
}

impl Settings {
    /// When a session that is used now expires, unless it is used again.
    pub(super) fn session_expires_at(&self, began_at: DateTime<Utc>, now: DateTime<Utc>) -> DateTime<Utc> {
        (now + bounded(self.token_lifetime)).min(began_at + bounded(self.session_lifetime))
    }

    /// Until when a session is fresh whose customer proved at this instant who they are.
    pub(super) fn fresh_until(&self, proven_at: DateTime<Utc>) -> DateTime<Utc> {
        proven_at + bounded(self.fresh_for)
    }

    /// Accounts that were closed before this instant are erased now. `None` if no account is old enough.
    pub(super) fn erases_closed_before(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        now.checked_sub_signed(TimeDelta::from_std(self.erase_after).unwrap_or(TimeDelta::MAX).max(MIN_ERASE_AFTER))
    }
}

/// A time of the settings, which may be longer than a database knows.
pub(super) fn bounded(time: Duration) -> TimeDelta {
    TimeDelta::from_std(time).unwrap_or(LONGEST_LIFETIME).min(LONGEST_LIFETIME)
}
