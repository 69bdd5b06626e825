//! The state of the storefront's handlers, and the settings that it is built from.

use std::num::NonZeroU32;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use ipnet::IpNet;

use crate::kernel::cache_metrics::CacheMetrics;
use crate::kernel::clock::Clock;
use crate::kernel::crypto::ApplicationKey;
use crate::kernel::database::{Pool, separate_pool};
use crate::kernel::group_metrics::GroupMetrics;
use crate::kernel::ids::{KeyId, StoreId};
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::metrics::Registry;
use crate::kernel::password_hashing::{Asker, HashingBusy, HashingPlace, PasswordHashing};
use crate::kernel::rate_limit::line::Lines;
use crate::kernel::rate_limit::{FailureLimiter, LocalRateLimiter};
use crate::kernel::settings;
use crate::kernel::web_origin::WebOrigin;
use crate::providers::breached_passwords::{BreachedPasswords, BreachedSource};
use crate::providers::card::Card;
use crate::providers::challenge::{self, ChallengeService};
use crate::providers::identity::IdentityProviders;
use crate::providers::mail::Mail;
use crate::providers::sms::Sms;
use crate::storefront::audit::Refusals;
use crate::storefront::caches::Caches;
use crate::storefront::challenges::Challenges;
use crate::storefront::company_providers::{self, CompanyProviders};
use crate::storefront::company_wordings::CompanyWordings;
use crate::storefront::guessing::{Client, Guess, Kind};
use crate::storefront::message_providers::{self, MessageProviders};
use crate::storefront::messages::Messages;
use crate::storefront::metrics::Metrics;
use crate::storefront::registration_hooks::{self, RegistrationHooks};
use crate::storefront::sms_guard::{self, DeploymentLimits, Judging};
use crate::storefront::tokens::{self, LookUps};
use crate::webhooks::{CompanyClients, Hooks};

/// The SMS guard counts the texts to a number for a day, even if its account is closed in the meantime.
const MIN_ERASE_AFTER: TimeDelta = TimeDelta::days(1);
/// A thousand years: longer than any sensible setting, and within the range of Postgres.
const LONGEST_LIFETIME: TimeDelta = TimeDelta::days(365_000);

/// The guesses of one client network at one store that are judged at the same time, and that wait. Fewer than lock somebody out, so that right
/// ones that arrive together never wait for each other's verdicts.
const GUESSES_AT_ONCE: usize = 8;
const GUESSES_WAITING: usize = 1_000;

/// Codes that are asked for and checked at the same time.
const CODES_AT_ONCE: u32 = 8;

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
}

/// `[storefront.access_tokens]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessTokenSettings {
    /// The origin at which services reach `/storefront/v1`. Without it there are no access tokens.
    #[serde(deserialize_with = "settings::optional")]
    pub issuer: Option<WebOrigin>,
    /// The validity of a token, which outlives its session for so long at most.
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

fn bounded(time: Duration) -> TimeDelta {
    TimeDelta::from_std(time).unwrap_or(LONGEST_LIFETIME).min(LONGEST_LIFETIME)
}

/// The state of the storefront's handlers. A clone is cheap: every request makes several.
#[derive(Clone, Debug)]
pub struct Storefront(Arc<Shared>);

/// The state that all clones of a [`Storefront`] share.
#[derive(Debug)]
pub struct Shared {
    pub(super) pool: Pool,
    /// For signing in with a password: as many connections as passwords are hashed at once.
    pub(super) password_pool: Pool,
    /// For signing in with a code.
    pub(super) code_pool: Pool,
    pub(super) clock: Clock,
    pub(super) application_key: ApplicationKey,
    pub(super) lifecycle: Lifecycle,
    pub(super) hashing: PasswordHashing,
    /// What the providers of the deployment report of texts.
    pub(super) sms: Sms,
    /// Has the SMS guard judge texts.
    pub(super) texts: Judging,
    /// Looks up the sessions of tokens.
    pub(super) look_ups: LookUps,
    pub(super) mail: Mail,
    /// The wording of texts and mails.
    pub(super) wordings: CompanyWordings,
    pub(super) identity_providers: IdentityProviders,
    pub(super) company_providers: CompanyProviders,
    pub(super) registration_hooks: RegistrationHooks,
    pub(super) message_providers: MessageProviders,
    pub(super) card: Card,
    pub(super) breached_passwords: BreachedPasswords,
    /// Asks suspicious requests for a challenge.
    pub(super) challenges: Challenges,
    pub(super) settings: Settings,
    /// Limits the requests per minute for one store key and client network.
    pub(super) throttle: LocalRateLimiter<(KeyId, IpNet)>,
    /// Limits the requests per minute with unknown store keys, per client network.
    pub(super) unknown_keys: FailureLimiter<IpNet>,
    /// The guesses that are judged at the same time, per store and client network.
    pub(super) guesses: Lines<(StoreId, IpNet)>,
    /// The refused sign-ins that are recorded.
    pub(super) refusals: Refusals,
    pub(super) caches: Caches,
    pub(super) metrics: Metrics,
}

/// The parts that a [`Storefront`] is built from.
#[derive(Debug)]
pub struct Parts {
    /// The connection pool.
    pub pool: Pool,
    /// The clock.
    pub clock: Clock,
    /// The key that code digests are made with and that gateway keys are sealed with.
    pub application_key: ApplicationKey,
    /// Tracks the tasks that run outside of a request.
    pub lifecycle: Lifecycle,
    /// Hashes passwords.
    pub hashing: PasswordHashing,
    /// Sends texts.
    pub sms: Sms,
    /// Sends mail.
    pub mail: Mail,
    /// The wording of texts and mails.
    pub messages: Messages,
    /// Verifies the identities of customers.
    pub identity_providers: IdentityProviders,
    /// Makes the clients for addresses that companies name.
    pub company_clients: CompanyClients,
    /// Saves cards.
    pub card: Card,
    /// `[storefront]`
    pub settings: Settings,
}

impl Deref for Storefront {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl Storefront {
    /// Builds the storefront.
    pub fn new(parts: Parts) -> Self {
        let Parts { pool, clock, application_key, lifecycle, hashing, sms, mail, messages, card, settings, .. } = parts;
        let Parts { identity_providers, company_clients, .. } = parts;
        let company_providers = CompanyProviders::new(company_providers::Parts {
            pool: pool.clone(),
            clock: clock.clone(),
            key: application_key.clone(),
            lifecycle: lifecycle.clone(),
            deployment: identity_providers.clone(),
            clients: company_clients.clone(),
        });
        let message_providers = MessageProviders::new(message_providers::Parts {
            pool: pool.clone(),
            clock: clock.clone(),
            key: application_key.clone(),
            sms: sms.clone(),
            mail: mail.clone(),
            clients: company_clients.clone(),
        });
        let metrics = Metrics::default();
        let registration_hooks = RegistrationHooks::new(registration_hooks::Parts {
            pool: pool.clone(),
            clock: clock.clone(),
            key: application_key.clone(),
            hooks: Hooks::new(company_clients),
            metrics: metrics.clone(),
        });
        let wordings = CompanyWordings::new(pool.clone(), clock.clone(), messages);
        let breached_passwords = BreachedPasswords::new(settings.breached_passwords.as_ref());
        let challenges = Challenges::new(ChallengeService::new(&settings.challenge), pool.clone(), metrics.clone());
        let throttle = LocalRateLimiter::new(settings.requests_per_minute);
        let unknown_keys = FailureLimiter::new(settings.requests_per_minute);
        let deployment = DeploymentLimits {
            daily_texts_per_number: settings.daily_texts_per_number.into(),
            unreachable_for: bounded(settings.unreachable_for),
        };
        let texts = sms_guard::judging(&pool, deployment, &lifecycle);
        let look_ups = tokens::look_ups(&pool, &lifecycle);
        let password_pool = separate_pool(&pool, "passwords", hashing.threads());
        let code_pool = separate_pool(&pool, "codes", CODES_AT_ONCE);
        Self(Arc::new(Shared {
            pool,
            password_pool,
            code_pool,
            clock,
            application_key,
            lifecycle,
            hashing,
            sms,
            texts,
            look_ups,
            mail,
            wordings,
            identity_providers,
            company_providers,
            registration_hooks,
            message_providers,
            card,
            breached_passwords,
            challenges,
            settings,
            throttle,
            unknown_keys,
            guesses: Lines::new(GUESSES_AT_ONCE, GUESSES_WAITING),
            refusals: Refusals::new(),
            caches: Caches::new(),
            metrics,
        }))
    }

    /// A guess that is made now.
    pub(super) fn guess(&self, store: StoreId, client: Client, kind: Kind) -> Guess {
        Guess { store, client, kind, failures_per_address: self.settings.failures_per_address, now: self.clock.now() }
    }

    /// The identity providers of companies.
    pub fn company_providers(&self) -> &CompanyProviders {
        &self.company_providers
    }

    /// The registration hooks of stores.
    pub fn registration_hooks(&self) -> &RegistrationHooks {
        &self.registration_hooks
    }

    /// What the messages of companies are sent by.
    pub fn message_providers(&self) -> &MessageProviders {
        &self.message_providers
    }

    /// The wording of companies.
    pub fn wordings(&self) -> &CompanyWordings {
        &self.wordings
    }

    /// Reserves a place for a password of a customer.
    pub(super) fn reserve_hashing(&self, store: StoreId, client: &Client) -> Result<HashingPlace, HashingBusy> {
        self.hashing.reserve(Asker { group: store.uuid(), network: client.network })
    }

    /// Registers what is counted here, and what is measured of the providers and the hashing threads.
    pub fn register(&self, registry: &mut Registry) {
        self.metrics.register(registry);
        self.hashing.register(registry);
        self.message_providers.register(registry);
    }

    /// The queues by name: of texts that wait to be judged, and of tokens that wait to be looked up.
    pub fn group_metrics(&self) -> [(&'static str, &GroupMetrics); 2] {
        [("texts", self.texts.metrics()), ("sessions", self.look_ups.metrics())]
    }

    /// The caches by name.
    pub fn cache_metrics(&self) -> [(&'static str, &CacheMetrics); 2] {
        [("stores", self.caches.stores.metrics()), ("sessions", self.caches.sessions.metrics())]
    }
}
