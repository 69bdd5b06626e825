//! What belongs to one database: the state of every module, with its pools, caches and workers.

use std::ops::Deref;

use axum::extract::FromRef;

use crate::app::health::Readiness;
use crate::app::metrics::Swept;
use crate::app::process::Process;
use crate::audit_trail::AuditTrail;
use crate::companies::{Companies, RequestLimits};
use crate::declared::Declared;
use crate::developers::{Developers, Publishing, Streams};
use crate::events::CommitNotifier;
use crate::fleet::{Fleet, Positions};
use crate::gateways::Gateways;
use crate::kernel::clock::Clock;
use crate::kernel::database::{self, Pool};
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::opaque::Opaque;
use crate::kernel::request_metrics::RequestMetrics;
use crate::kernel::traces::Traces;
use crate::operators::{self, Operators};
use crate::portal::Portal;
use crate::providers::mailbox::Mailbox;
use crate::realtime::Realtime;
use crate::storefront::{self, CompanyProviders, CompanyWordings, MessageProviders, RegistrationHooks, Storefront, Stores};
use crate::webhooks::{self, Webhooks};

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
    /// Whether this instance should get requests.
    pub readiness: Readiness,
    /// The time.
    pub clock: Clock,
    /// Who changed what.
    pub audit_trail: AuditTrail,
    /// Authentication of companies by API key.
    pub companies: Companies,
    /// How much of the service one company uses.
    pub request_limits: RequestLimits,
    /// Who signs in to the console.
    pub operators: Operators,
    /// The storefront.
    pub storefront: Storefront,
    /// The stores, as a resource.
    pub stores: Stores,
    /// The identity providers of companies, as a resource.
    pub company_providers: CompanyProviders,
    /// The registration hooks of stores, as a resource.
    pub registration_hooks: RegistrationHooks,
    /// What the messages of companies are sent by, as a resource.
    pub message_providers: MessageProviders,
    /// The wording of companies, as a resource.
    pub wordings: CompanyWordings,
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
    /// Publishing by clients.
    pub publishing: Publishing,
    /// The event streams.
    pub streams: Streams,
    /// The portal.
    pub portal: Portal,
    /// Receives texts and mails in development.
    pub mailbox: Mailbox,
    /// What ends with the process.
    pub lifecycle: Lifecycle,
    /// What is recorded of requests and deliveries.
    pub traces: Traces,
    /// What is measured of requests.
    pub requests: RequestMetrics,
    /// When this instance has last removed expired rows.
    pub swept: Swept,
}

/// All module states on one database. The router clones it several times per request, so cloning must be cheap.
#[derive(Clone)]
pub struct AppState(Opaque<StateParts>);

impl Deref for AppState {
    type Target = StateParts;

    fn deref(&self) -> &StateParts {
        &self.0
    }
}

/// The clock of a database, unless the time is moved by hand.
fn of_database(clock: &Clock, pool: &Pool) -> Clock {
    match clock {
        Clock::Server(_) => pool.clock(),
        clock => clock.clone(),
    }
}

impl AppState {
    /// Builds the state of every module on the database of `pool`, and starts to notify its other instances of events.
    pub fn new(process: &Process, pool: Pool) -> Self {
        let Process { config, application_key, lifecycle, catalogue, .. } = process;
        let clock = &of_database(&process.clock, &pool);
        if let Some(replica) = pool.replica() {
            lifecycle.spawn(replica.clone().follow(lifecycle.stopping().clone()));
        }
        let companies = Companies::new(pool.clone(), clock.clone(), lifecycle.clone());
        let notifier = CommitNotifier::default();
        lifecycle.spawn(notifier.clone().run(database::background_pool(&pool, "notifications", 1), lifecycle.stopping().clone()));
        let developers = Developers::new(pool.clone(), clock.clone(), catalogue.clone());
        let fleet = Fleet { pool: pool.clone(), clock: clock.clone() };
        let storefront = Storefront::new(storefront::Parts {
            pool: pool.clone(),
            clock: clock.clone(),
            application_key: application_key.clone(),
            identity_providers: process.identity_providers.clone(),
            delivering: process.delivering.clone(),
            lifecycle: lifecycle.clone(),
            hashing: process.hashing.clone(),
            sms: process.sms.clone(),
            mail: process.mail.clone(),
            messages: process.messages.clone(),
            card: process.card.clone(),
            settings: config.storefront.clone(),
        });
        let webhooks = Webhooks::new(webhooks::Parts {
            pool: pool.clone(),
            clock: clock.clone(),
            key: application_key.clone(),
            settings: config.webhooks.clone(),
            delivering: process.delivering.clone(),
            catalogue: catalogue.clone(),
            notifier: notifier.clone(),
            mail: process.mail.clone(),
        });
        let fanned_out = webhooks.subscribe_fanned_out();
        Self(Opaque::new(StateParts {
            readiness: Readiness::new(&pool, webhooks.clone(), lifecycle.clone()),
            lifecycle: lifecycle.clone(),
            traces: process.traces.clone(),
            operators: Operators::new(operators::Parts {
                pool: pool.clone(),
                clock: clock.clone(),
                key: application_key.clone(),
                hashing: process.hashing.clone(),
                mail: process.mail.clone(),
                oidc: process.operators_provider.clone(),
                console: config.console_url(),
                settings: config.operators.clone(),
            }),
            audit_trail: AuditTrail::new(pool.clone(), clock.clone(), config.audit_trail.clone()),
            stores: Stores::of(&storefront),
            company_providers: storefront.company_providers().clone(),
            registration_hooks: storefront.registration_hooks().clone(),
            message_providers: storefront.message_providers().clone(),
            wordings: storefront.wordings().clone(),
            storefront,
            realtime: Realtime::new(pool.clone(), clock.clone(), process.socket_key.clone(), config.socket.clone()),
            positions: Positions::new(&fleet, lifecycle),
            fleet,
            gateways: Gateways::new(
                pool.clone(),
                clock.clone(),
                application_key.clone(),
                notifier.clone(),
                &config.gateways,
                process.card.clone(),
                lifecycle,
            ),
            declared: Declared::new(pool.clone(), clock.clone(), process.declarations.clone(), &config.extensions.retired),
            webhooks: webhooks.clone(),
            publishing: Publishing::new(developers.clone(), webhooks, notifier, lifecycle),
            streams: Streams::new(developers.clone(), config.streams, lifecycle.clone(), fanned_out),
            developers,
            portal: Portal::new(pool, clock.clone(), config.portal.clone()),
            companies,
            request_limits: RequestLimits::new(&config.companies),
            mailbox: process.mailbox.clone().unwrap_or_default(),
            clock: clock.clone(),
            requests: process.requests.clone(),
            swept: Swept::default(),
        }))
    }
}
