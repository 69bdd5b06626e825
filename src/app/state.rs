//! The state of every module, built from the settings and a few external dependencies.

use std::ops::Deref;
use std::sync::Arc;

use axum::extract::FromRef;
use sqlx::PgPool;

use crate::app::extensions;
use crate::companies::Companies;
use crate::config::Config;
use crate::declared::{Declared, InvalidDeclaration};
use crate::developers::Developers;
use crate::events::{Catalogue, CommitNotifier, NameTaken};
use crate::fleet::{Fleet, Positions};
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
use crate::storefront::{self, Messages, MessagesError, Storefront};
use crate::webhooks::{self, Resolver, Webhooks};

/// Declares the struct of all module states, and implements `FromRef` for each, so that handlers can extract it.
macro_rules! app_state {
    ($($(#[$doc:meta])* pub $name:ident: $Part:ty,)*) => {
        /// The state of each module, as handlers extract it.
        pub struct StateParts {
            $($(#[$doc])* pub $name: $Part,)*
        }

        $(impl FromRef<AppState> for $Part {
            fn from_ref(state: &AppState) -> Self {
                state.$name.clone()
            }
        })*
    };
}

app_state! {
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
    /// The positions of drivers and vehicles.
    pub positions: Positions,
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
pub struct AppState(Arc<StateParts>);

impl Deref for AppState {
    type Target = StateParts;

    fn deref(&self) -> &StateParts {
        &self.0
    }
}

/// The external dependencies. Tests pass a moved clock and their own database.
#[derive(Clone)]
pub struct Dependencies {
    /// The database.
    pub pool: PgPool,
    /// The clock.
    pub clock: Clock,
    /// The master key for all secrets.
    pub application_key: ApplicationKey,
    /// The resolver of endpoint host names.
    pub resolver: Resolver,
    /// The threads that hash passwords.
    pub hashing: PasswordHashing,
    /// The shutdown token and the tasks to wait for.
    pub lifecycle: Lifecycle,
    /// Stores texts and mails in development; `None` in production.
    pub mailbox: Option<Mailbox>,
}

/// A module cannot be built from its settings.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// `[sms]`
    #[error("the settings of [sms] are invalid")]
    Sms(#[from] sms::SettingsError),
    /// `[mail]`
    #[error("the settings of [mail] are invalid")]
    Mail(#[from] mail::SettingsError),
    /// `[messages]`
    #[error("the settings of [messages] are invalid")]
    Messages(#[from] MessagesError),
    /// `[providers.idp_a]`, `[providers.idp_b]`, `[providers.idp_c]`
    #[error("the settings of [providers] are invalid")]
    IdentityProviders(#[from] identity::SettingsError),
    /// `[providers.card]`
    #[error("the settings of [providers.card] are invalid")]
    Card(#[from] card::SettingsError),
    /// `[socket]`
    #[error("the settings of [socket] are invalid")]
    Socket(#[from] realtime::InvalidSocketKey),
    /// A file in `extensions.directory` is invalid.
    #[error("a declared extension is invalid")]
    Declared(#[from] InvalidDeclaration),
    /// The name of an event declared by an extension is taken.
    #[error("an event of a declared extension is invalid")]
    DeclaredName(#[from] NameTaken),
    /// `[webhooks]`
    #[error("the settings of [webhooks] are invalid")]
    Webhooks(#[from] webhooks::SettingsError),
}

impl AppState {
    /// Deletes expired counters and rows of every module. Called about once a minute, on every instance.
    pub async fn sweep(&self) -> Result<(), sqlx::Error> {
        self.companies.sweep();
        self.gateways.sweep();
        // An error of one does not stop the other.
        self.storefront.sweep().await.and(self.developers.sweep().await)
    }

    /// Builds the state of every module.
    pub fn new(config: &Config, dependencies: Dependencies) -> Result<Self, StateError> {
        let Dependencies { pool, clock, application_key, resolver, hashing, lifecycle, mailbox } = dependencies;
        let companies = Companies::new(pool.clone(), clock.clone(), lifecycle.clone());
        let declared = Declared::new(pool.clone(), clock.clone(), extensions::declarations(&config.extensions)?);
        let catalogue = Catalogue::built_in().with(declared.event_types())?;
        let notifier = CommitNotifier::default();
        let gateways = Gateways::new(pool.clone(), clock.clone(), application_key.clone(), notifier.clone(), &config.gateways, &lifecycle);
        lifecycle.spawn(notifier.clone().run(database::background_pool(&pool, 1), lifecycle.stopping().clone()));
        let mail = Mail::new(&config.mail, mailbox.clone())?;
        let webhooks = Webhooks::new(webhooks::Parts {
            pool: pool.clone(),
            clock: clock.clone(),
            key: application_key.clone(),
            settings: config.webhooks.clone(),
            resolver,
            catalogue: catalogue.clone(),
            notifier: notifier.clone(),
            mail: mail.clone(),
        })?;
        let storefront = Storefront::new(storefront::Parts {
            pool: pool.clone(),
            clock: clock.clone(),
            application_key,
            identity_providers: IdentityProviders::new(&config.providers, &clock, &lifecycle)?,
            lifecycle: lifecycle.clone(),
            hashing,
            sms: Sms::new(&config.sms, mailbox.clone())?,
            mail,
            messages: Messages::load(&config.messages)?,
            card: Card::new(&config.providers.card)?,
            settings: config.storefront.clone(),
        });
        let fleet = Fleet { pool: pool.clone(), clock: clock.clone() };
        Ok(Self(Arc::new(StateParts {
            developers: Developers::new(pool.clone(), clock.clone(), companies.clone(), catalogue, notifier, config.streams, &lifecycle),
            companies,
            storefront,
            realtime: Realtime::new(pool.clone(), clock.clone(), config.socket.clone())?,
            positions: Positions::new(&fleet, &lifecycle),
            fleet,
            gateways,
            declared,
            webhooks,
            mailbox: mailbox.unwrap_or_default(),
            pool,
        })))
    }
}
