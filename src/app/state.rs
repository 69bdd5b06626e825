//! The state of every module, built from the settings and a few external dependencies.

use std::ops::Deref;
use std::sync::Arc;

use axum::extract::FromRef;
use sqlx::PgPool;

use crate::app::extensions;
use crate::companies::Companies;
use crate::config::Config;
use crate::declared::{BadDeclaration, Declared};
use crate::developers::Developers;
use crate::events::{Catalogue, NameTaken, News};
use crate::fleet::Fleet;
use crate::gateways::Gateways;
use crate::kernel::clock::Clock;
use crate::kernel::crypto::ApplicationKey;
use crate::kernel::database;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::password_hashing::PasswordHashing;
use crate::providers::card::{self, Card};
use crate::providers::identity::{self, IdentityProviders};
use crate::providers::mail::{self, Mail};
use crate::providers::mailbox::Mailbox;
use crate::providers::sms::{self, Sms};
use crate::realtime::{self, Realtime};
use crate::storefront::{self, BadMessages, Messages, Storefront};
use crate::webhooks::{self, Names, Webhooks};

/// Declares the struct of all module states, and implements `FromRef` for each, so that handlers can extract it.
macro_rules! rooms {
    ($($(#[$doc:meta])* pub $name:ident: $room:ty,)*) => {
        /// The state of each module, as handlers extract it.
        pub struct Rooms {
            $($(#[$doc])* pub $name: $room,)*
        }

        $(impl FromRef<AppState> for $room {
            fn from_ref(state: &AppState) -> Self {
                state.$name.clone()
            }
        })*
    };
}

rooms! {
    /// The database, for the health routes.
    pub pool: PgPool,
    /// Authentication of companies by API key.
    pub companies: Companies,
    /// The storefront.
    pub storefront: Storefront,
    /// Token and channel checks for a socket server.
    pub realtime: Realtime,
    /// The fleet.
    pub fleet: Fleet,
    /// Callbacks from payment gateways.
    pub gateways: Gateways,
    /// The extensions declared in files.
    pub declared: Declared,
    /// The delivery hub.
    pub webhooks: Webhooks,
    /// The developer API.
    pub developers: Developers,
    /// Receives texts and mails in development.
    pub mailbox: Mailbox,
}

/// All module states. The router clones it several times per request, so cloning must be cheap.
#[derive(Clone)]
pub struct AppState(Arc<Rooms>);

impl Deref for AppState {
    type Target = Rooms;

    fn deref(&self) -> &Rooms {
        &self.0
    }
}

/// The external dependencies. Tests pass a moved clock and their own database.
#[derive(Clone)]
pub struct Outside {
    /// The database.
    pub pool: PgPool,
    /// The clock.
    pub clock: Clock,
    /// The master key for all secrets.
    pub application_key: ApplicationKey,
    /// The resolver of endpoint host names.
    pub names: Names,
    /// The shutdown token and the tasks to wait for.
    pub lifecycle: Lifecycle,
    /// Stores texts and mails in development; `None` in production.
    pub mailbox: Option<Mailbox>,
}

/// A module cannot be built from its settings.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// `[sms]`
    #[error("the settings of [sms] are not usable")]
    Sms(#[from] sms::BadSettings),
    /// `[mail]`
    #[error("the settings of [mail] are not usable")]
    Mail(#[from] mail::BadSettings),
    /// `[messages]`
    #[error("the settings of [messages] are not usable")]
    Messages(#[from] BadMessages),
    /// `[providers.idp_a]`, `[providers.idp_b]`, `[providers.idp_c]`
    #[error("the settings of [providers] are not usable")]
    IdentityProviders(#[from] identity::BadSettings),
    /// `[providers.card]`
    #[error("the settings of [providers.card] are not usable")]
    Card(#[from] card::BadSettings),
    /// `[socket]`
    #[error("the settings of [socket] are not usable")]
    Socket(#[from] realtime::BadSocketKey),
    /// A file in `extensions.directory` is invalid.
    #[error("a declared extension cannot be used")]
    Declared(#[from] BadDeclaration),
    /// The name of an event declared by an extension is taken.
    #[error("an event of a declared extension cannot be used")]
    DeclaredName(#[from] NameTaken),
    /// `[webhooks]`
    #[error("the settings of [webhooks] are not usable")]
    Webhooks(#[from] webhooks::BadSettings),
}

impl AppState {
    /// Builds the state of every module.
    pub fn new(config: &Config, outside: Outside) -> Result<Self, StateError> {
        let Outside { pool, clock, application_key, names, lifecycle, mailbox } = outside;
        let companies = Companies::new(pool.clone(), clock.clone(), lifecycle.clone());
        let declared = Declared::new(pool.clone(), clock.clone(), extensions::declarations(&config.extensions)?);
        let catalogue = Catalogue::built_in().with(declared.event_types())?;
        let news = News::default();
        let gateways = Gateways::new(pool.clone(), clock.clone(), application_key.clone(), news.clone(), &config.gateways, &lifecycle);
        lifecycle.spawn(news.clone().spread(database::background_pool(&pool, 1), lifecycle.stopping().clone()));
        let mail = Mail::new(&config.mail, mailbox.clone())?;
        let webhooks = Webhooks::new(webhooks::Parts {
            pool: pool.clone(),
            clock: clock.clone(),
            key: application_key.clone(),
            settings: config.webhooks.clone(),
            names,
            catalogue: catalogue.clone(),
            news: news.clone(),
            mail: mail.clone(),
        })?;
        let storefront = Storefront::new(storefront::Parts {
            pool: pool.clone(),
            clock: clock.clone(),
            application_key,
            identity_providers: IdentityProviders::new(&config.providers, &clock, &lifecycle)?,
            lifecycle: lifecycle.clone(),
            hashing: PasswordHashing::start(),
            sms: Sms::new(&config.sms, mailbox.clone())?,
            mail,
            messages: Messages::load(&config.messages)?,
            card: Card::new(&config.providers.card)?,
            settings: config.storefront.clone(),
        });
        Ok(Self(Arc::new(Rooms {
            developers: Developers::new(pool.clone(), clock.clone(), companies.clone(), catalogue, news, config.streams, &lifecycle),
            companies,
            storefront,
            realtime: Realtime::new(pool.clone(), clock.clone(), config.socket.clone())?,
            fleet: Fleet { pool: pool.clone(), clock: clock.clone() },
            gateways,
            declared,
            webhooks,
            mailbox: mailbox.unwrap_or_default(),
            pool,
        })))
    }
}
