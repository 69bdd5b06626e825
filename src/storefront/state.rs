//! The state of the storefront's handlers.

use std::ops::Deref;

use ipnet::IpNet;

use crate::kernel::cache_metrics::CacheMetrics;
use crate::kernel::clock::Clock;
use crate::kernel::crypto::ApplicationKey;
use crate::kernel::database::{Pool, separate_pool};
use crate::kernel::group_metrics::GroupMetrics;
use crate::kernel::ids::{KeyId, StoreId};
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::opaque::Opaque;
use crate::kernel::password_hashing::{Asker, HashingBusy, HashingPlace, PasswordHashing};
use crate::kernel::rate_limit::line::Lines;
use crate::kernel::rate_limit::{FailureLimiter, LocalRateLimiter};
use crate::providers::breached_passwords::BreachedPasswords;
use crate::providers::card::Card;
use crate::providers::challenge::ChallengeService;
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
use crate::storefront::settings::{Settings, bounded};
use crate::storefront::sms_guard::{self, DeploymentLimits, Judging};
use crate::storefront::tokens::LookUps;
use crate::webhooks::{Delivering, Hooks};

/// The guesses of one client network at one store that are judged at the same time, and that wait. Fewer than lock somebody out, so that right
/// ones that arrive together never wait for each other's verdicts.
const GUESSES_AT_ONCE: usize = 8;
const GUESSES_WAITING: usize = 1_000;

/// Codes that are asked for and checked at the same time.
const CODES_AT_ONCE: u32 = 8;

/// The state of the storefront's handlers. A clone is cheap: every request makes several.
#[derive(Clone, Debug)]
pub struct Storefront(Opaque<Shared>);

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
    pub delivering: Delivering,
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
        let Parts { identity_providers, delivering, .. } = parts;
        let networks = &settings.allowed_networks;
        let company_providers = CompanyProviders::new(company_providers::Parts {
            pool: pool.clone(),
            clock: clock.clone(),
            key: application_key.clone(),
            lifecycle: lifecycle.clone(),
            deployment: identity_providers.clone(),
            clients: delivering.company_clients(&networks.identity_providers),
        });
        let message_providers = MessageProviders::new(message_providers::Parts {
            pool: pool.clone(),
            clock: clock.clone(),
            key: application_key.clone(),
            sms: sms.clone(),
            mail: mail.clone(),
            clients: delivering.company_clients(&networks.message_providers),
            mail_clients: delivering.company_clients(&networks.mail_servers),
        });
        let metrics = Metrics::default();
        let registration_hooks = RegistrationHooks::new(registration_hooks::Parts {
            pool: pool.clone(),
            clock: clock.clone(),
            key: application_key.clone(),
            hooks: Hooks::new(delivering.company_clients(&networks.registration_hooks)),
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
        let look_ups = LookUps::new(&pool, &lifecycle);
        let password_pool = separate_pool(&pool, "passwords", hashing.threads());
        let code_pool = separate_pool(&pool, "codes", CODES_AT_ONCE);
        Self(Opaque::new(Shared {
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

    /// The queues by name: of texts that wait to be judged, and of tokens that wait to be looked up.
    pub fn group_metrics(&self) -> [(&'static str, &GroupMetrics); 2] {
        [("texts", self.texts.metrics()), ("sessions", self.look_ups.group_metrics())]
    }

    /// The caches by name.
    pub fn cache_metrics(&self) -> [(&'static str, &CacheMetrics); 2] {
        [("stores", self.caches.stores.metrics()), ("sessions", self.caches.sessions.metrics())]
    }
}
