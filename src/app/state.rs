//! The state of every room, built from the settings and the few things that come from outside.

use axum::extract::FromRef;
use sqlx::PgPool;

use crate::companies::Companies;
use crate::config::Config;
use crate::kernel::clock::Clock;
use crate::kernel::crypto::ApplicationKey;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::password_hashing::PasswordHashing;
use crate::providers::card::{self, Card};
use crate::providers::mail::Mail;
use crate::providers::mailbox::Mailbox;
use crate::providers::sms::Sms;
use crate::storefront::Storefront;

/// What handlers can ask for, each room by itself.
#[derive(Clone, FromRef)]
pub struct AppState {
    /// The database, for the routes that look after it.
    pub pool: PgPool,
    /// Who may call for a company.
    pub companies: Companies,
    /// The storefront.
    pub storefront: Storefront,
    /// Where texts and mails go in development.
    pub mailbox: Mailbox,
}

/// What the rooms are given from outside: tests give a moved clock and a database of their own.
#[derive(Clone)]
pub struct Outside {
    /// The database.
    pub pool: PgPool,
    /// The time.
    pub clock: Clock,
    /// The key everything secret hangs on.
    pub application_key: ApplicationKey,
    /// What has to end before the program may.
    pub lifecycle: Lifecycle,
    /// Keeps texts and mails in development; `None` in production.
    pub mailbox: Option<Mailbox>,
}

/// A part cannot work with its settings.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// `[sms]`
    #[error("the settings of [sms] are not usable")]
    Sms(#[from] crate::providers::sms::BadSettings),
    /// `[mail]`
    #[error("the settings of [mail] are not usable")]
    Mail(#[from] crate::providers::mail::BadSettings),
    /// `[providers.card]`
    #[error("the settings of [providers.card] are not usable")]
    Card(#[from] card::BadSettings),
}

impl AppState {
    /// Builds every room.
    pub fn new(config: &Config, outside: Outside) -> Result<Self, StateError> {
        let Outside { pool, clock, application_key, lifecycle, mailbox } = outside;
        let storefront = Storefront::new(storefront_parts(config, &pool, &clock, application_key, lifecycle, mailbox.clone())?);
        Ok(Self {
            companies: Companies { pool: pool.clone(), clock: clock.clone() },
            storefront,
            mailbox: mailbox.unwrap_or_default(),
            pool,
        })
    }
}

fn storefront_parts(
    config: &Config,
    pool: &PgPool,
    clock: &Clock,
    application_key: ApplicationKey,
    lifecycle: Lifecycle,
    mailbox: Option<Mailbox>,
) -> Result<crate::storefront::Parts, StateError> {
    Ok(crate::storefront::Parts {
        pool: pool.clone(),
        clock: clock.clone(),
        application_key,
        lifecycle,
        hashing: PasswordHashing::start(),
        sms: Sms::new(&config.sms, mailbox.clone())?,
        mail: Mail::new(&config.mail, mailbox)?,
        card: Card::new(&config.providers.card)?,
        settings: config.storefront.clone(),
    })
}
