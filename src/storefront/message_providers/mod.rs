//! The message providers of companies. Texts and mails of a store are sent by the provider of its company, if it has an active one, else by
//! those of the deployment (`[sms]`, `[mail]`).
//!
//! Providers are records ([`MessageProviderRecord`](crate::storefront::resources)); here they are looked up and built. One that cannot be
//! used, because its settings or its secret do not fit the deployment any more, sends nothing. Those of the deployment take its place only if it
//! says that it falls back.
//!
//! What a company is sent by is read once a second at most. A built provider is kept by its version, with its connection and its circuit
//! breaker; the number that is kept is bounded, and one that is not is built again.

mod kind;
mod of_company;
mod queries;
mod secret;
mod settings;

use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use serde_json::{Map, Value};
use sqlx::types::Json;
use url::Host;

use crate::kernel::built_cache::BuiltCache;
use crate::kernel::clock::Clock;
use crate::kernel::crypto::{ApplicationKey, CannotOpen, Destination};
use crate::kernel::database::Pool;
use crate::kernel::error_chain::chain;
use crate::kernel::ids::{CompanyId, MessageProviderId};
use crate::kernel::metrics::Registry;
use crate::kernel::opaque::Opaque;
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode};
use crate::kernel::rate_limit::line::{Lines, Turn};
use crate::kernel::ttl_cache::TtlCache;
use crate::providers::hook::{Hook, HookSecret};
use crate::providers::mail::{self, Mail, OwnMail, Security, Trust};
use crate::providers::sms::{self, OwnSms, Reporter, Sms};
use crate::resources::ResourceState;
use crate::webhooks::{CompanyClients, EndpointUrl, NoClient};

pub use kind::{MessageChannel, ProviderKind};
pub use of_company::{CompanyMail, ProvidersOfCompany};
pub use secret::{ProviderSecret, SEALED};

use settings::{MailServer, ProviderSettings, Word, refused};

/// The providers of one company.
pub const MAX_OF_COMPANY: i64 = 10;
/// The companies whose providers are cached.
const MAX_CACHED_COMPANIES: usize = 2_000;
/// The built providers that are kept.
const MAX_BUILT: usize = 500;
/// The receipts of one provider that are read at the same time, and those that wait, for each instance. A company can send any number.
const RECEIPTS_AT_ONCE: usize = 4;
const RECEIPTS_WAITING: usize = 60;
/// The time limit of a try at the endpoint of a company.
const HOOK_TIMEOUT: Duration = Duration::from_secs(2);
/// The time limit of a request to a service that a company describes.
const SERVICE_TIMEOUT: Duration = Duration::from_secs(5);

/// The message providers of all companies. Clones share them.
#[derive(Clone, Debug)]
pub struct MessageProviders(Opaque<Shared>);

#[derive(Debug)]
struct Shared {
    pool: Pool,
    clock: Clock,
    key: ApplicationKey,
    sms: Sms,
    mail: Mail,
    clients: CompanyClients,
    mail_clients: CompanyClients,
    cached: TtlCache<CompanyId, ProvidersOfCompany>,
    built: BuiltCache<MessageProviderId, i64, Option<Built>>,
    receipts: Lines<MessageProviderId>,
}

/// The parts that [`MessageProviders`] are built from.
#[derive(Debug)]
pub struct Parts {
    pub pool: Pool,
    pub clock: Clock,
    pub key: ApplicationKey,
    /// The SMS providers of the deployment.
    pub sms: Sms,
    /// The mail server of the deployment.
    pub mail: Mail,
    /// Makes the clients for the URLs that companies name.
    pub clients: CompanyClients,
    /// Connects to the mail servers that companies name.
    pub mail_clients: CompanyClients,
}

/// A provider as it is stored.
#[derive(Debug)]
pub struct StoredProvider {
    pub id: MessageProviderId,
    pub version: i64,
    pub channel: MessageChannel,
    pub kind: ProviderKind,
    pub falls_back: bool,
    pub settings: Json<Map<String, Value>>,
    pub secret: Option<Vec<u8>>,
}

/// A provider that can be used. Clones share it.
#[derive(Clone, Debug)]
pub enum Built {
    /// It sends texts.
    Sms(OwnSms),
    /// It sends mails.
    Mail(CompanyMail),
}

/// Why a provider cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// Its settings do not fit its kind, or its secret does not.
    #[error(transparent)]
    Settings(#[from] Problem),
    /// Its secret was sealed for another address or under another application key.
    #[error("the secret cannot be decrypted")]
    Secret(#[from] CannotOpen),
    /// Its address may not be connected to.
    #[error(transparent)]
    Client(#[from] NoClient),
}

impl StoredProvider {
    /// Where the secret is sent. It is sealed for that alone.
    pub fn destination(&self) -> Result<Destination, Problem> {
        Ok(ProviderSettings::parse(self.channel, self.kind, &self.settings)?.destination())
    }
}

impl ResourceState for MessageProviders {
    fn pool(&self) -> &Pool {
        &self.0.pool
    }

    fn clock(&self) -> &Clock {
        &self.0.clock
    }
}

impl MessageProviders {
    /// Reads and builds providers when they are asked for.
    pub fn new(parts: Parts) -> Self {
        let Parts { pool, clock, key, sms, mail, clients, mail_clients } = parts;
        let (cached, built) = (TtlCache::new(MAX_CACHED_COMPANIES), BuiltCache::new(MAX_BUILT));
        let receipts = Lines::new(RECEIPTS_AT_ONCE, RECEIPTS_WAITING);
        Self(Opaque::new(Shared { pool, clock, key, sms, mail, clients, mail_clients, cached, built, receipts }))
    }

    /// Evicts the providers of a company, after this instance has changed one of them.
    pub fn forget(&self, company: CompanyId) {
        self.0.cached.invalidate(&company);
    }

    /// The key that secrets are sealed with.
    pub fn key(&self) -> &ApplicationKey {
        &self.0.key
    }

    /// The mail server of the deployment.
    pub fn mail(&self) -> &Mail {
        &self.0.mail
    }

    /// Makes the clients for the URLs that companies name.
    pub fn clients(&self) -> &CompanyClients {
        &self.0.clients
    }

    /// Connects to the mail servers that companies name.
    pub fn mail_clients(&self) -> &CompanyClients {
        &self.0.mail_clients
    }

    /// Registers what is measured of the providers.
    pub fn register(&self, registry: &mut Registry) {
        self.0.sms.register(registry);
        self.0.mail.register(registry);
    }

    /// What sends the messages of a company's stores.
    pub async fn of(&self, company: CompanyId) -> Result<Arc<ProvidersOfCompany>, sqlx::Error> {
        let read = || async {
            let mut found = ProvidersOfCompany::of_deployment(&self.0.sms, &self.0.mail);
            for stored in &queries::list_active(&mut self.0.pool.acquire().await?, company).await? {
                found.replace(stored.channel, self.built(company, stored).as_ref(), stored.falls_back);
            }
            Ok(found)
        };
        self.0.cached.get_or_read(company, self.0.clock.now(), read).await
    }

    /// Where a provider reports of its texts: nowhere, unless its kind does and the deployment receives receipts.
    pub fn receipts_url(&self, id: MessageProviderId, kind: ProviderKind) -> Option<String> {
        self.0.sms.receipts_url(Reporter::Own(id)).filter(|_| kind.sends_receipts())
    }

    /// What reads the receipts of a provider, active or not, when it is its turn. One that is gone or cannot be used has none to read.
    pub async fn reporting(&self, id: MessageProviderId) -> Result<(Sms, Turn<MessageProviderId>), Problem> {
        let turn = self.0.receipts.turn(id).await.map_err(|_| ProblemCode::Overloaded)?;
        let found = queries::find(&mut self.0.pool.acquire().await?, id).await?;
        let sms = match found.and_then(|(company, stored)| self.built(company, &stored)) {
            Some(Built::Sms(own)) => self.0.sms.with_own(&own, false),
            Some(Built::Mail(_)) | None => self.0.sms.without_providers(),
        };
        Ok((sms, turn))
    }

    /// The provider in its present version; `None` if it cannot be used.
    fn built(&self, company: CompanyId, stored: &StoredProvider) -> Option<Built> {
        self.0.built.get_or_build(stored.id, &stored.version, || {
            let built = self.build(company, stored).inspect_err(|error| {
                tracing::warn!(provider = %stored.id, error = chain(error), "a message provider of a company cannot be used");
            });
            built.ok()
        })
    }

    /// Builds a provider from what is stored, or says why it cannot be used. Nothing is requested.
    pub fn build(&self, company: CompanyId, stored: &StoredProvider) -> Result<Built, Unusable> {
        let settings = ProviderSettings::parse(stored.channel, stored.kind, &stored.settings)?;
        let opened = |sealed: &[u8]| ProviderSecret::open(&self.0.key, stored.id, &settings.destination(), sealed);
        let secret = stored.secret.as_deref().map(opened).transpose()?;
        let own = match (stored.channel, settings) {
            (_, ProviderSettings::Twilio(account)) => {
                let (Word(account_sid), Word(from)) = (account.account_sid, account.from);
                sms::OwnSettings::Twilio { account_sid, auth_token: required(secret)?, from }
            }
            (_, ProviderSettings::Vonage(account)) => {
                let (Word(api_key), Word(from)) = (account.api_key, account.from);
                sms::OwnSettings::Vonage { api_key, api_secret: required(secret)?, from }
            }
            (_, ProviderSettings::Http(settings, url)) => {
                let client = self.0.clients.client(company, [&url], SERVICE_TIMEOUT)?;
                sms::OwnSettings::Http { settings, secret, client }
            }
            (MessageChannel::Sms, ProviderSettings::Webhook(url)) => sms::OwnSettings::Webhook(self.hook(company, &url, secret)?),
            (MessageChannel::Email, ProviderSettings::Webhook(url)) => {
                let hook = mail::OwnSettings::Webhook(self.hook(company, &url, secret)?);
                return self.mail_by(company, hook, None);
            }
            (_, ProviderSettings::Smtp(server)) => {
                let address = (server.host.0.clone(), server.port());
                return self.mail_by(company, self.server(server, secret)?, Some(address));
            }
        };
        Ok(Built::Sms(self.0.sms.own(stored.id, own).map_err(refused)?))
    }

    fn mail_by(&self, company: CompanyId, own: mail::OwnSettings, server: Option<(Host<String>, u16)>) -> Result<Built, Unusable> {
        let mail = OwnMail::new(own).map_err(|error| {
            let member = if matches!(error, mail::OwnSettingsError::From(_)) { "settings.from" } else { "settings.host" };
            FieldErrors::one(member, format!("This {error}."))
        })?;
        Ok(Built::Mail(CompanyMail { mail, server, company, clients: self.0.mail_clients.clone() }))
    }

    fn server(&self, server: MailServer, secret: Option<SecretString>) -> Result<mail::OwnSettings, Problem> {
        let credentials = match (server.user, secret) {
            (Some(_), Some(_)) if server.security == Security::None => {
                return Err(FieldErrors::one("settings.security", "A password is only sent over TLS."));
            }
            (Some(user), secret) => Some((user, required(secret)?)),
            (None, None) => None,
            (None, Some(_)) => return Err(FieldErrors::one("settings.user", "This is not set, but there is a secret.")),
        };
        let trust = Trust { tls: self.0.mail_clients.tls(), roots: self.0.mail_clients.roots() };
        Ok(mail::OwnSettings::Smtp { host: server.host.0.to_string(), security: server.security, credentials, from: server.from, trust })
    }

    fn hook(&self, company: CompanyId, url: &EndpointUrl, secret: Option<SecretString>) -> Result<Hook, Unusable> {
        let secret = HookSecret::parse(&required(secret)?);
        let secret = secret.map_err(|error| FieldErrors::one("secret", format!("This {error}.")))?;
        Ok(Hook::new(self.0.clients.client(company, [url], HOOK_TIMEOUT)?, url.url(), secret))
    }
}

fn required(secret: Option<SecretString>) -> Result<SecretString, Problem> {
    secret.ok_or_else(|| FieldErrors::one("secret", "This is not set."))
}
