//! The state of every room, built from the settings and the few things that come from outside.

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

/// Writes the struct of the rooms, and lets handlers take each of them out of the state.
macro_rules! rooms {
    ($($(#[$doc:meta])* pub $name:ident: $room:ty,)*) => {
        /// What handlers can ask for, each room by itself.
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
    /// The database, for the routes that look after it.
    pub pool: PgPool,
    /// Who may call for a company.
    pub companies: Companies,
    /// The storefront.
    pub storefront: Storefront,
    /// What a socket server asks.
    pub realtime: Realtime,
    /// The fleet.
    pub fleet: Fleet,
    /// What payment gateways tell.
    pub gateways: Gateways,
    /// The extensions that files declare.
    pub declared: Declared,
    /// The delivery hub.
    pub webhooks: Webhooks,
    /// What developers look up.
    pub developers: Developers,
    /// Where texts and mails go in development.
    pub mailbox: Mailbox,
}

/// All rooms. The router clones it several times a request, so a clone must cost nothing.
#[derive(Clone)]
pub struct AppState(Arc<Rooms>);

impl Deref for AppState {
    type Target = Rooms;

    fn deref(&self) -> &Rooms {
        &self.0
    }
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
    /// Where the names of endpoints turn into addresses.
    pub names: Names,
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
    /// A file of `extensions.directory`.
    #[error("a declared extension cannot be used")]
    Declared(#[from] BadDeclaration),
    /// The name of such an event.
    #[error("an event of a declared extension cannot be used")]
    DeclaredName(#[from] NameTaken),
    /// `[webhooks]`
    #[error("the settings of [webhooks] are not usable")]
    Webhooks(#[from] webhooks::BadSettings),
}

impl AppState {
    /// Forgets what no longer counts, in every room. To be called every minute or so, on every instance.
    pub async fn sweep(&self) -> Result<(), sqlx::Error> {
        self.companies.sweep();
        self.gateways.sweep();
        // What one of them cannot sweep does not stay in the other.
        self.storefront.sweep().await.and(self.developers.sweep().await)
    }

    /// Builds every room.
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
