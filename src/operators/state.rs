//! What operators need to sign in: the database, the keys, the limits, and how they are mailed.

use std::num::NonZeroU32;
use std::ops::Deref;
use std::time::Duration;

use ipnet::IpNet;
use url::Url;

use crate::kernel::clock::Clock;
use crate::kernel::crypto::ApplicationKey;
use crate::kernel::database::Pool;
use crate::kernel::opaque::Opaque;
use crate::kernel::password_hashing::PasswordHashing;
use crate::kernel::rate_limit::FailureLimiter;
use crate::kernel::settings;
use crate::operators::role::Role;
use crate::providers::identity::CodeFlow;
use crate::providers::mail::Mail;

/// The maximum number of requests without a live session per minute and client network. Browsers whose session has ended make some.
const UNKNOWN_SESSIONS_PER_MINUTE: NonZeroU32 = NonZeroU32::new(600).expect("600 is not zero");

/// `[operators]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// How long an operator stays signed in without using the console.
    #[serde(deserialize_with = "settings::seconds")]
    pub idle_timeout: Duration,
    /// How long an operator stays signed in at most.
    #[serde(deserialize_with = "settings::seconds")]
    pub session_lifetime: Duration,
    /// How long after a proof of who they are operators may administer, and see secrets.
    #[serde(deserialize_with = "settings::seconds")]
    pub fresh_for: Duration,
    /// Who must have a second factor.
    pub totp: TotpPolicy,
    /// Where operators open the console; links in mails lead there. Development has a default.
    #[serde(deserialize_with = "settings::optional")]
    pub console_url: Option<Url>,
    /// The entry of `[[providers.oidc]]` that operators can sign in with.
    #[serde(deserialize_with = "settings::optional")]
    pub oidc: Option<String>,
}

/// Who must have a second factor. Everybody may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TotpPolicy {
    /// Nobody.
    Optional,
    /// Owners, who can let others in.
    Owners,
    /// Every operator.
    Everybody,
}

impl TotpPolicy {
    pub(super) fn requires(self, role: Role) -> bool {
        match self {
            Self::Optional => false,
            Self::Owners => role == Role::Owner,
            Self::Everybody => true,
        }
    }
}

/// What the state is built of.
#[derive(Clone, Debug)]
pub struct Parts {
    /// The database.
    pub pool: Pool,
    /// The time.
    pub clock: Clock,
    /// Seals secrets and proves browsers.
    pub key: ApplicationKey,
    /// The threads that hash passwords.
    pub hashing: PasswordHashing,
    /// Sends invitations and resets.
    pub mail: Mail,
    /// The provider that operators can sign in with.
    pub oidc: Option<CodeFlow>,
    /// Where the console is, as browsers reach it.
    pub console: Option<Url>,
    /// `[operators]`
    pub settings: Settings,
}

/// The operators of one database.
#[derive(Clone, Debug)]
pub struct Operators(Opaque<Shared>);

/// The state that all clones of [`Operators`] share.
#[derive(Debug)]
pub struct Shared {
    /// The database.
    pub pool: Pool,
    /// The time.
    pub clock: Clock,
    pub(super) key: ApplicationKey,
    pub(super) hashing: PasswordHashing,
    pub(super) mail: Mail,
    pub(super) oidc: Option<CodeFlow>,
    console: Option<Url>,
    pub(super) settings: Settings,
    /// Limits requests with tokens of no live session, per client network.
    pub(super) unknown_sessions: FailureLimiter<IpNet>,
}

impl Deref for Operators {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl Operators {
    /// Builds the state.
    pub fn new(parts: Parts) -> Self {
        let Parts { pool, clock, key, hashing, mail, oidc, console, settings } = parts;
        let unknown_sessions = FailureLimiter::new(UNKNOWN_SESSIONS_PER_MINUTE);
        Self(Opaque::new(Shared { pool, clock, key, hashing, mail, oidc, console, settings, unknown_sessions }))
    }

    /// The address of a page of the console, if the deployment says where the console is.
    pub(super) fn address_of(&self, page: &str) -> Option<String> {
        Some(format!("{}{page}", self.console.as_ref()?.origin().ascii_serialization()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_requires_a_second_factor_of_some_roles() {
        for (policy, required) in
            [(TotpPolicy::Optional, &[][..]), (TotpPolicy::Owners, &[Role::Owner]), (TotpPolicy::Everybody, &Role::ALL)]
        {
            let roles: Vec<_> = Role::ALL.iter().copied().filter(|role| policy.requires(*role)).collect();
            assert_eq!(roles, required, "{policy:?}");
        }
    }
}
