//! The storefront: how the customers of one store register, sign in and stay signed in (interface 1).
//!
//! Every request names its store by a publishable key ([`access`]); a signed-in customer adds a token ([`tokens`]). Neither proves who
//! somebody *is*: that takes a verification code or a password.
//!
//! * [`codes`] issues verification codes and judges guesses. It alone writes `verification_codes` and `wrong_codes`. A guess is counted
//!   in a committed statement before it is compared, so no number of parallel guesses gets more than five comparisons out of a code.
//! * [`texts`] is the SMS guard every text passes. It alone writes `texts`, which is its log and its counters in one.
//! * [`messages`] has the words of texts and mails, in every language and for every store.
//! * [`customers`] holds accounts. An identity *belongs* to an account only once it is proven, by a code sent to it; an identity merely
//!   typed is kept and shown, never gets its owner's code, and gives way to whoever proves it. So nobody can wait in an account that
//!   somebody else will one day believe to be theirs.
//! * [`registration`], [`sign_in`], [`phone_change`], [`closure`], [`profile`], [`sessions`] and [`devices`] are the flows: what the routes
//!   do, step by step.
//!
//! What is not guaranteed: a text that a provider accepted may still not arrive, and the general throttle is counted by each instance
//! for itself; all other limits are counted in Postgres and hold for any number of instances.

mod access;
mod closure;
mod codes;
mod customers;
mod devices;
mod messages;
mod passwords;
mod phone_change;
mod profile;
mod registration;
mod sending;
mod sessions;
mod sign_in;
mod stores;
mod texts;
mod tokens;

use std::num::NonZeroU32;
use std::time::Duration;

use axum::Router;
use axum::extract::FromRef;
use axum::middleware::from_fn_with_state;
use axum::routing::{delete, get, post};
use sqlx::PgPool;

use crate::kernel::clock::Clock;
use crate::kernel::crypto::ApplicationKey;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::password_hashing::PasswordHashing;
use crate::providers::mail::Mail;
use crate::providers::sms::Sms;

pub use messages::{BadMessages, Fault, Messages, Settings as MessagesSettings};
pub use stores::{StoreKey, create_store, create_store_key};

/// `[storefront]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// How long a customer stays signed in without using the service.
    #[serde(with = "humantime_serde")]
    pub token_lifetime: Duration,
    /// How long after its closure an account's personal fields are blanked.
    #[serde(with = "humantime_serde")]
    pub erase_after: Duration,
    /// Requests a minute for one store key and client address.
    pub requests_per_minute: NonZeroU32,
}

/// What the storefront's handlers work with.
#[derive(Clone, Debug)]
pub struct Storefront {
    pool: PgPool,
    clock: Clock,
    application_key: ApplicationKey,
    lifecycle: Lifecycle,
    hashing: PasswordHashing,
    sms: Sms,
    mail: Mail,
    messages: Messages,
    settings: Settings,
    throttle: access::Throttle,
}

/// What a storefront is made of.
#[derive(Debug)]
pub struct Parts {
    /// The database.
    pub pool: PgPool,
    /// The time.
    pub clock: Clock,
    /// Codes are digested under it.
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
    /// `[storefront]`
    pub settings: Settings,
}

impl Storefront {
    /// Puts the parts together.
    pub fn new(parts: Parts) -> Self {
        let Parts { pool, clock, application_key, lifecycle, hashing, sms, mail, messages, settings } = parts;
        let throttle = access::Throttle::new(settings.requests_per_minute);
        Self { pool, clock, application_key, lifecycle, hashing, sms, mail, messages, settings, throttle }
    }

    /// Forgets what no longer counts. To be called every minute or so.
    pub fn sweep(&self) {
        self.throttle.sweep();
    }
}

/// Everything below `/storefront/v1`.
pub fn routes<S>(storefront: &Storefront) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    Storefront: FromRef<S>,
{
    Router::new()
        .route("/customers", post(registration::register))
        .route("/customers/me", get(profile::me))
        .route("/customers/{id}", get(profile::find).put(profile::update))
        .route("/customers/request-creation-code", post(registration::request_creation_code))
        .route("/customers/login", post(sign_in::login))
        .route("/customers/login-with-sms", post(sign_in::login_with_sms))
        .route("/customers/verify-code", post(sign_in::verify_code))
        .route("/customers/request-phone-verification", post(phone_change::request))
        .route("/customers/verify-phone-number", post(phone_change::confirm))
        .route("/customers/account-closure", post(closure::request))
        .route("/customers/confirm-account-closure", post(closure::confirm))
        .route("/customers/register-device", post(devices::register))
        .route("/customers/unregister-device", post(devices::unregister))
        .route("/customers/sessions", get(sessions::list))
        .route("/customers/sessions/{id}", delete(sessions::revoke))
        .route("/customers/logout", post(sessions::logout))
        .route("/customers/logout-all", post(sessions::logout_all))
        .route_layer(from_fn_with_state(storefront.clone(), access::admit))
}
