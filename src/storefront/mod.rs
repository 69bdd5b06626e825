//! The storefront: registration, sign-in and sessions for the customers of one store (interface 1).
//!
//! Every request identifies its store by a publishable key ([`access`]). A signed-in customer also sends a token ([`tokens`]).
//! Neither of them proves an identity: only a verification code, a password or an identity provider does.
//!
//! Who is who:
//!
//! * [`codes`] issues verification codes and judges guesses. It is the only writer of `verification_codes` and `wrong_codes`. A
//!   guess is counted in a committed statement before it is compared. Parallel guesses therefore never get more than five
//!   comparisons out of one code.
//! * [`messaging::sms_guard`] is the SMS guard that every text passes. It is the only writer of `texts`, which serves both as the log
//!   and as the counters.
//! * [`messaging::mail_limit`] limits the number of mails to one mailbox.
//! * [`messaging::messages`] holds the wording of texts and mails, per language and per store.
//! * [`customers`] holds accounts. An identity *belongs* to an account only once it is proven, by a code sent to it or by an
//!   identity provider. An unproven identity is stored and shown, but it never receives its owner's code, never clears the count
//!   of wrong guesses, and is removed from the account as soon as another account proves it. An attacker therefore cannot prepare
//!   an account with a stranger's identity and wait for that stranger to use it.
//! * [`social`] signs customers in with identity providers. It is the only writer of `provider_links` and
//!   `used_identity_tokens`. An address that a provider vouches for counts as proven.
//! * [`card`] gives apps access to the customer's record at the card provider. It is the only writer of `card_customers`.
//! * [`registration`], [`sign_in`], [`password_reset`], [`contact_change`], [`closure`], [`profile`], [`sessions`] and
//!   [`devices`] are the flows behind the routes.
//! * [`audit`] records sign-ins: a successful one with its method and origin, in the statement that issues the token
//!   ([`tokens`]), and a refused one after the refusal. [`resources`] shows it to operators, together with stores, customers,
//!   sessions and texts.
//! * [`routes`] mounts the routes of the flows and describes them in `GET /openapi.json`.
//! * [`caches`] caches the rows that most requests look up, with a TTL of one second. An instance evicts a row at once when it
//!   changes it. A revoked session therefore ends at once on the instance that revoked it, and within one second on every other
//!   instance.
//!
//! Guaranteed: transactions that lock several rows lock accounts first, in the order of their ids, then their codes, then the
//! counters, so they cannot deadlock.
//!
//! Not guaranteed: a text that a provider accepted may not arrive. The general throttle is counted in the memory of each
//! instance. All other limits are counted in Postgres and hold for any number of instances.

mod access;
mod accounts;
mod audit;
mod caches;
mod card;
mod codes;
mod customers;
mod messaging;
mod passwords;
mod resources;
mod routes;
mod stores;
mod tokens;

use std::num::NonZeroU32;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use ipnet::IpNet;
use sqlx::{Connection, PgPool};

use crate::kernel::clock::Clock;
use crate::kernel::crypto::ApplicationKey;
use crate::kernel::database::separate_pool;
use crate::kernel::ids::KeyId;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::password_hashing::PasswordHashing;
use crate::kernel::rate_limit::FailureLimiter;
use crate::kernel::rate_limit::{self, LocalRateLimiter};
use crate::kernel::settings;
use crate::providers::card::Card;
use crate::providers::identity::IdentityProviders;
use crate::providers::mail::Mail;
use crate::providers::sms::Sms;

pub use accounts::export::{Exported, export_customer};
pub use messaging::messages::{Fault, Messages, MessagesError, Settings as MessagesSettings};
pub use resources::extension as operator_extension;
pub use routes::{PATH, Routes, describe};
pub use stores::{StoreKey, company_of_store, company_of_store_key, create_store, create_store_key, list_stores, revoke_store_key};
pub use tokens::{SignedInCustomer, TokenId, is_signed_in, revoke_customer, revoke_session};

use accounts::{closure, contact_change, devices, password_reset, profile, registration, sessions, sign_in, social};
use messaging::sms_guard;

/// The SMS guard counts the texts to a number for a day, even if its account is closed in the meantime.
const MIN_ERASE_AFTER: TimeDelta = TimeDelta::days(1);

/// `[storefront]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The time without a request after which a session expires.
    #[serde(deserialize_with = "settings::time")]
    pub token_lifetime: Duration,
    /// The time after the closure of an account at which its personal fields and its personal data in the logs are blanked. At
    /// least one day.
    #[serde(with = "humantime_serde")]
    pub erase_after: Duration,
    /// Whether a login response also contains the customer's fields at its top level, for clients that read them there.
    pub flat_login: bool,
    /// Requests per minute for one store key and client address, and for one client address with unknown store keys.
    pub requests_per_minute: NonZeroU32,
    /// Mails that one store sends to one mailbox within 24 hours.
    pub daily_mails_per_mailbox: NonZeroU32,
}

/// The state of the storefront's handlers. A clone is cheap: every request makes several.
#[derive(Clone, Debug)]
pub struct Storefront(Arc<Shared>);

/// The state that all clones of a [`Storefront`] share.
#[derive(Debug)]
pub struct Shared {
    pool: PgPool,
    /// For signing in with a password: as many connections as passwords are hashed at once.
    password_pool: PgPool,
    clock: Clock,
    application_key: ApplicationKey,
    lifecycle: Lifecycle,
    hashing: PasswordHashing,
    sms: Sms,
    mail: Mail,
    messages: Messages,
    identity_providers: IdentityProviders,
    card: Card,
    settings: Settings,
    /// Limits the requests per minute for one store key and client network.
    throttle: LocalRateLimiter<(KeyId, IpNet)>,
    /// Limits the requests per minute with unknown store keys, per client network.
    unknown_keys: FailureLimiter<IpNet>,
    caches: caches::Caches,
}

/// The parts that a [`Storefront`] is built from.
#[derive(Debug)]
pub struct Parts {
    /// The connection pool.
    pub pool: PgPool,
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
        let Parts { pool, clock, application_key, lifecycle, hashing, sms, mail, messages, identity_providers, card, settings } = parts;
        let throttle = LocalRateLimiter::new(settings.requests_per_minute);
        let unknown_keys = FailureLimiter::new(settings.requests_per_minute);
        let caches = caches::Caches::new();
        let password_pool = separate_pool(&pool, hashing.threads());
        Self(Arc::new(Shared {
            pool,
            password_pool,
            clock,
            application_key,
            lifecycle,
            hashing,
            sms,
            mail,
            messages,
            identity_providers,
            card,
            settings,
            throttle,
            unknown_keys,
            caches,
        }))
    }

    /// Deletes expired data: windows of limits that have passed, codes and tallies of wrong codes older than a day, sessions that
    /// ended more than 90 days ago, and sign-ins and texts older than 90 days. Blanks the personal data of accounts that were
    /// closed longer than `storefront.erase_after` ago. A periodic task calls it about once a minute.
    pub async fn sweep(&self) -> Result<(), sqlx::Error> {
        self.throttle.sweep();
        self.unknown_keys.sweep();
        let now = self.clock.now();
        let mut conn = self.pool.acquire().await?;
        rate_limit::sweep(&mut conn, now).await?;
        social::sweep_tokens(&mut conn, now).await?;
        // An expired code and a tally of wrong codes have no effect any more a day later.
        codes::sweep_codes(&mut conn, now - TimeDelta::days(1)).await?;
        let erase_after = TimeDelta::from_std(self.settings.erase_after).unwrap_or(TimeDelta::MAX).max(MIN_ERASE_AFTER);
        if let Some(closed_before) = now.checked_sub_signed(erase_after) {
            let mut tx = conn.begin().await?;
            audit::forget_leavers(&mut tx, closed_before).await?;
            sms_guard::forget_leavers(&mut tx, closed_before).await?;
            customers::erase_closed(&mut tx, closed_before, now).await?;
            tx.commit().await?;
        }
        audit::forget_sign_ins(&mut conn, now - audit::RETENTION).await?;
        tokens::forget_ended(&mut conn, now - audit::RETENTION).await?;
        sms_guard::forget_texts(&mut conn, now - audit::RETENTION).await
    }
}

/// Every route below [`PATH`], together with `guests`: routes of other modules that require a store key too.
pub fn routes<S>(storefront: &Storefront, guests: Routes<S>) -> Routes<S>
where
    S: Clone + Send + Sync + 'static,
{
    let own = [
        registration::routes(),
        sign_in::routes(),
        social::routes(storefront),
        password_reset::routes(),
        profile::routes(),
        contact_change::routes(),
        sessions::routes(),
        devices::routes(),
        card::routes(storefront.card.name()),
        closure::routes(),
    ];
    let own = own.into_iter().fold(Routes::none(), Routes::merge);
    own.with_state(storefront.clone()).merge(guests).with_access_check(storefront)
}
