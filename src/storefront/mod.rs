//! The storefront: how the customers of one store register, sign in and stay signed in (interface 1).
//!
//! Every request names its store by a publishable key ([`access`]); a signed-in customer adds a token ([`tokens`]). Neither proves who
//! somebody *is*: that takes a verification code or a password.
//!
//! * [`codes`] issues verification codes and judges guesses. It alone writes `verification_codes` and `wrong_codes`. A guess is counted
//!   in a committed statement before it is compared, so no number of parallel guesses gets more than five comparisons out of a code.
//! * [`texts`] is the SMS guard every text passes. It alone writes `texts`, which is its log and its counters in one.
//! * [`mails`] limits how many mails go to one mailbox.
//! * [`messages`] has the words of texts and mails, in every language and for every store.
//! * [`customers`] holds accounts. An identity *belongs* to an account only once it is proven, by a code sent to it or by an identity
//!   provider; one that is merely typed is kept and shown, never gets its owner's code, forgives nobody's wrong guesses, and gives way to
//!   whoever proves it. So nobody can wait in an account that somebody else will one day believe to be theirs.
//! * [`social`] signs in with identity providers and alone writes `provider_links`; what a provider vouches for counts as proven.
//! * [`card`] lends customers the company's account at the card provider. It alone writes `card_customers`.
//! * [`registration`], [`sign_in`], [`password_reset`], [`contact_change`], [`closure`], [`profile`], [`sessions`] and [`devices`] are the
//!   flows: what the routes do, step by step.
//! * [`audit`] writes down who signed in, how and from where, in the statement that issues the token ([`tokens`]), and what was refused;
//!   [`resources`] shows it, and the rest, to operators.
//!
//! [`routes`] mounts what the flows offer and tells of it in `GET /openapi.json`.
//!
//! [`recent`] remembers for a second what most requests look up. What an instance changes it forgets at once, so a sign-in revoked there ends
//! there at once, and within a second on every other instance.
//!
//! Where several rows are locked, accounts come first, in the order of their ids, then their codes, then what was counted of them: nobody
//! waits in a circle.
//!
//! What is not guaranteed: a text that a provider accepted may still not arrive, and the general throttle is counted by each instance
//! for itself; all other limits are counted in Postgres and hold for any number of instances.

mod access;
mod audit;
mod card;
mod closure;
mod codes;
mod contact_change;
mod customers;
mod devices;
mod export;
mod mails;
mod messages;
mod password_reset;
mod passwords;
mod profile;
mod recent;
mod registration;
mod resources;
mod routes;
mod sending;
mod sessions;
mod sign_in;
mod social;
mod stores;
mod texts;
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
use crate::kernel::failure_throttle::FailureThrottle;
use crate::kernel::ids::KeyId;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::password_hashing::PasswordHashing;
use crate::kernel::rate_limit;
use crate::kernel::settings;
use crate::kernel::throttle::Throttle;
use crate::providers::card::Card;
use crate::providers::identity::IdentityProviders;
use crate::providers::mail::Mail;
use crate::providers::sms::Sms;

pub use export::export_customer;
pub use messages::{BadMessages, Fault, Messages, Settings as MessagesSettings};
pub use resources::extension as operator_extension;
pub use routes::{PATH, Routes, Told, told};
pub use stores::{StoreKey, create_store, create_store_key, revoke_store_key};
pub use tokens::{SignedInCustomer, TokenId, is_signed_in, revoke_customer, revoke_session};

/// The SMS guard counts the texts to a number for a day, whoever closes the account meanwhile.
const ERASED_AFTER_AT_LEAST: TimeDelta = TimeDelta::days(1);

/// `[storefront]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// How long a customer stays signed in without using the service.
    #[serde(deserialize_with = "settings::time")]
    pub token_lifetime: Duration,
    /// How long after its closure an account's personal fields are blanked, and what the logs tell of it; a day at least.
    #[serde(with = "humantime_serde")]
    pub erase_after: Duration,
    /// Whether a login response also has the customer's fields at its top level, for clients that read them there.
    pub flat_login: bool,
    /// Requests a minute for one store key and client address, and for one client address with unknown store keys.
    pub requests_per_minute: NonZeroU32,
    /// Mails one store sends to one mailbox in any day.
    pub daily_mails_per_mailbox: NonZeroU32,
}

/// What the storefront's handlers work with. A clone costs nothing: every request takes several.
#[derive(Clone, Debug)]
pub struct Storefront(Arc<Shared>);

/// What all clones of a storefront have in common.
#[derive(Debug)]
pub struct Shared {
    pool: PgPool,
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
    /// So many requests a minute for one store key and address.
    throttle: Throttle<(KeyId, IpNet)>,
    /// As many unknown store keys a minute from one network.
    unknown_keys: FailureThrottle<IpNet>,
    recent: recent::Recent,
}

/// What a storefront is made of.
#[derive(Debug)]
pub struct Parts {
    /// The database.
    pub pool: PgPool,
    /// The time.
    pub clock: Clock,
    /// Codes are digested under it, and gateways' keys sealed.
    pub application_key: ApplicationKey,
    /// Keeps track of what is written off the request path.
    pub lifecycle: Lifecycle,
    /// Hashes passwords.
    pub hashing: PasswordHashing,
    /// Sends texts.
    pub sms: Sms,
    /// Sends mail.
    pub mail: Mail,
    /// What both say.
    pub messages: Messages,
    /// Say who somebody is to them.
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
    /// Puts the parts together.
    pub fn new(parts: Parts) -> Self {
        let Parts { pool, clock, application_key, lifecycle, hashing, sms, mail, messages, identity_providers, card, settings } = parts;
        let throttle = Throttle::new(settings.requests_per_minute);
        let unknown_keys = FailureThrottle::new(settings.requests_per_minute);
        let recent = recent::Recent::new();
        Self(Arc::new(Shared {
            pool,
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
            recent,
        }))
    }

    /// Forgets what is over: limits that no longer count, what tells who had the accounts closed longer than `storefront.erase_after` ago,
    /// sign-ins and texts older than 90 days, and tokens that ended so long ago. To be called every minute or so.
    pub async fn sweep(&self) -> Result<(), sqlx::Error> {
        self.throttle.sweep();
        self.unknown_keys.sweep();
        let now = self.clock.now();
        let mut conn = self.pool.acquire().await?;
        rate_limit::sweep(&mut conn, now).await?;
        // A code that expired and a tally that was forgiven mean nothing a day later.
        codes::sweep_codes(&mut conn, now - TimeDelta::days(1)).await?;
        let erase_after = TimeDelta::from_std(self.settings.erase_after).unwrap_or(TimeDelta::MAX).max(ERASED_AFTER_AT_LEAST);
        if let Some(closed_before) = now.checked_sub_signed(erase_after) {
            let mut tx = conn.begin().await?;
            audit::forget_leavers(&mut tx, closed_before).await?;
            texts::forget_leavers(&mut tx, closed_before).await?;
            customers::erase_closed(&mut tx, closed_before, now).await?;
            tx.commit().await?;
        }
        audit::forget_sign_ins(&mut conn, now - audit::KEPT_FOR).await?;
        tokens::forget_ended(&mut conn, now - audit::KEPT_FOR).await?;
        texts::forget_texts(&mut conn, now - audit::KEPT_FOR).await
    }
}

/// Everything below [`PATH`], with the routes of `guests`: other parts' that stand behind the same door.
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
    own.with_state(storefront.clone()).merge(guests).behind_the_door(storefront)
}
