//! What a process has once, however many databases it serves: clients of outside services, hashing threads, the catalogue of events,
//! and the settings.

use std::sync::Arc;

use crate::app::extensions;
use crate::config::{Config, Environment};
use crate::declared::{Declaration, InvalidDeclaration};
use crate::events::{Catalogue, NameTaken};
use crate::kernel::clock::Clock;
use crate::kernel::crypto::ApplicationKey;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::password_hashing::PasswordHashing;
use crate::kernel::request_metrics::RequestMetrics;
use crate::kernel::traces::{self, Traces};
use crate::providers::card::{self, Card};
use crate::providers::identity::{self, CodeFlow, IdentityProviders};
use crate::providers::mail::{self, Mail};
use crate::providers::mailbox::Mailbox;
use crate::providers::sms::{self, Sms};
use crate::realtime::{self, SocketKey};
use crate::storefront::{Messages, MessagesError};
use crate::webhooks::{self, Delivering, Resolver};

/// The external dependencies. Tests pass a moved clock and their own database.
#[derive(Clone)]
pub struct Dependencies {
    /// Tests pass one that stands still until they advance it.
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

/// What all databases of a process share.
#[derive(Clone)]
pub struct Process {
    pub(super) config: Arc<Config>,
    pub(super) clock: Clock,
    pub(super) application_key: ApplicationKey,
    pub(super) lifecycle: Lifecycle,
    pub(super) hashing: PasswordHashing,
    pub(super) mailbox: Option<Mailbox>,
    pub(super) traces: Traces,
    /// What is measured of requests.
    pub(super) requests: RequestMetrics,
    pub(super) declarations: Arc<[Arc<Declaration>]>,
    pub(super) catalogue: Catalogue,
    pub(super) mail: Mail,
    pub(super) sms: Sms,
    pub(super) messages: Messages,
    pub(super) identity_providers: IdentityProviders,
    /// The provider that operators can sign in with.
    pub(super) operators_provider: Option<CodeFlow>,
    pub(super) card: Card,
    pub(super) socket_key: Option<SocketKey>,
    /// The client that delivers webhooks, and the permits for deliveries in flight.
    pub(super) delivering: Delivering,
}

impl Process {
    /// Checks the settings and builds what follows from them.
    pub fn new(config: &Config, dependencies: Dependencies) -> Result<Self, SetupError> {
        let Dependencies { clock, application_key, resolver, hashing, lifecycle, mailbox } = dependencies;
        let declarations = extensions::declarations(&config.extensions)?;
        let (customers, operators) = config.providers.divided(config.operators.oidc.as_deref())?;
        let operators = operators.map(|(word, settings)| CodeFlow::new(&word, &settings, &clock, &lifecycle)).transpose()?;
        let traces = Traces::start(&config.traces)?;
        let declared = declarations.iter().flat_map(|declaration| declaration.event_types.clone());
        Ok(Self {
            catalogue: extensions::catalogue().with(declared.collect())?,
            declarations,
            mail: Mail::new(&config.mail, config.environment() == Environment::Development, mailbox.clone())?,
            sms: Sms::new(&config.sms, mailbox.clone())?.with_receipts(&config.sms, &application_key),
            messages: Messages::load(&config.messages)?,
            identity_providers: IdentityProviders::new(&customers, &clock, &lifecycle)?,
            operators_provider: operators,
            card: Card::new(&config.providers.card)?,
            socket_key: SocketKey::parse(&config.socket.key, &config.socket.previous_keys)?,
            delivering: Delivering::new(&config.webhooks, resolver, clock.clone(), traces.clone())?,
            traces,
            requests: RequestMetrics::default(),
            config: Arc::new(config.clone()),
            clock,
            application_key,
            lifecycle,
            hashing,
            mailbox,
        })
    }
}

/// A module cannot be built from its settings.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// `[traces]`
    #[error("the settings of [traces] are invalid")]
    Traces(#[from] traces::SettingsError),
    /// `[sms]`
    #[error("the settings of [sms] are invalid")]
    Sms(#[from] sms::SettingsError),
    /// `[mail]`
    #[error("the settings of [mail] are invalid")]
    Mail(#[from] mail::SettingsError),
    /// `[messages]`
    #[error("the settings of [messages] are invalid")]
    Messages(#[from] MessagesError),
    /// `[[providers.oidc]]`, `[providers.idp_c]`, `operators.oidc`
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
