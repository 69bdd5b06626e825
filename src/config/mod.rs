//! All settings: `config/default.toml`, then a file, then environment variables. Unknown keys are rejected.
//!
//! # Rooms
//!
//! From top to bottom; a room uses only rooms below it.
//!
//! ```text
//! variables           the variables of the environment that are settings
//! files               the settings that such a variable does not have itself, but in a file
//! layer               what one source says, with the list of identity providers as sections by name
//! http                where and how the service listens
//! admin_listen        where the metrics are
//! ```

mod admin_listen;
mod files;
mod http;
mod layer;
mod variables;

use std::path::{Path, PathBuf};
use std::time::Duration;

use config::{ConfigError, Environment as Variables, File, FileFormat, Source};
use nix::unistd::geteuid;
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use crate::config::layer::{Layer, refuse_unlisted};
use crate::kernel::database::CellName;
use crate::kernel::{database, logging, settings, traces};
use crate::providers::{self, mail, sms};
use crate::{audit_trail, companies, declared, developers, gateways, operators, portal, realtime, storefront, webhooks};

pub use admin_listen::AdminListen;
pub use http::Http;

const DEFAULTS: &str = include_str!("../../config/default.toml");

/// As long as a proxy takes that asks every two seconds and believes the second failure.
const SHUTDOWN_DELAY: Duration = Duration::from_secs(5);

/// The settings of all modules.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    #[serde(deserialize_with = "settings::optional")]
    environment: Option<Environment>,
    application_key: SecretString,
    /// Further keys that open what is stored: those that `application_key` has replaced, or the one that will replace it.
    #[serde(deserialize_with = "settings::secrets")]
    pub previous_application_keys: Vec<SecretString>,
    /// `[http]`
    pub http: Http,
    /// `[database]`
    pub database: database::Settings,
    /// `[log]`
    pub log: logging::Settings,
    /// `[traces]`
    pub traces: traces::Settings,
    /// `[audit_trail]`
    pub audit_trail: audit_trail::Settings,
    /// `[operators]`
    pub operators: operators::Settings,
    /// `[companies]`
    pub companies: companies::Settings,
    /// `[storefront]`
    pub storefront: storefront::Settings,
    /// `[sms]`
    pub sms: sms::Settings,
    /// `[mail]`
    pub mail: mail::Settings,
    /// `[messages]`
    pub messages: storefront::MessagesSettings,
    /// `[providers]`
    pub providers: providers::Settings,
    /// `[webhooks]`
    pub webhooks: webhooks::Settings,
    /// `[streams]`
    pub streams: developers::StreamsSettings,
    /// `[portal]`
    pub portal: portal::Settings,
    /// `[extensions]`
    pub extensions: declared::Settings,
    /// `[gateways]`
    pub gateways: gateways::Settings,
    /// `[socket]`
    pub socket: realtime::Settings,
    /// `[dev]`
    pub dev: Dev,
}

/// The mode that the service runs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Environment {
    /// On a developer's machine: private PostgreSQL, demonstration data, mailbox, loopback only.
    Development,
    /// For real customers.
    Production,
}

impl std::str::FromStr for Environment {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "development" => Ok(Self::Development),
            "production" => Ok(Self::Production),
            _ => Err("environment must be \"development\" or \"production\""),
        }
    }
}

/// `[dev]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dev {
    /// Where development keeps its database, keys and certificates.
    #[serde(deserialize_with = "settings::optional")]
    pub data_dir: Option<PathBuf>,
}

/// `/var/lib/portico` for root, `.portico` in the current directory for other users.
///
/// PostgreSQL refuses to run as root, so for root the server runs under an account that cannot read root's home directory.
#[must_use]
pub fn default_data_dir() -> PathBuf {
    PathBuf::from(if geteuid().is_root() { "/var/lib/portico" } else { ".portico" })
}

impl Config {
    /// Reads the defaults, the given `file` and the environment variables `PORTICO_…`, in this order.
    pub fn load(file: Option<&Path>) -> Result<Self, ConfigError> {
        let variables = variables::settings(of_this_process(), DEFAULTS)?;
        match file {
            Some(file) => Self::read(&[&File::from(file).format(FileFormat::Toml), &variables]),
            None => Self::read(&[&variables]),
        }
    }

    /// The defaults with some keys replaced, for tests and for what depends on no setting: `("http.listen", "127.0.0.1:0")`.
    pub fn with(changes: &[(&str, &str)]) -> Result<Self, ConfigError> {
        Self::with_file("", changes)
    }

    /// The same with the text of a file.
    pub fn with_file(text: &str, changes: &[(&str, &str)]) -> Result<Self, ConfigError> {
        let variables = changes.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let variables = Variables::default().separator(".").source(Some(variables));
        Self::read(&[&File::from_str(text, FileFormat::Toml), &variables])
    }

    fn read(sources: &[&dyn Source]) -> Result<Self, ConfigError> {
        let defaults = File::from_str(DEFAULTS, FileFormat::Toml);
        let layers = [&defaults as &dyn Source].iter().chain(sources).map(|source| Layer::read(*source)).collect::<Result<Vec<_>, _>>()?;
        let merging = layers.iter().fold(config::Config::builder(), |builder, layer| builder.add_source(layer.clone()));
        let settings = merging.build()?;
        refuse_unlisted(&layers, &settings)?;
        let config: Self = settings.try_deserialize()?;
        if config.database.cells.contains_key(&CellName::main()) {
            return Err(ConfigError::Message("database.cells.main: main is the cell of database.url, which says all about it".to_owned()));
        }
        Ok(config)
    }

    /// The configured environment. If unset, debug builds use development and release builds use production.
    pub fn environment(&self) -> Environment {
        let of_the_build = if cfg!(debug_assertions) { Environment::Development } else { Environment::Production };
        self.environment.unwrap_or(of_the_build)
    }

    /// `http.shutdown_delay`. If unset, production uses [`SHUTDOWN_DELAY`], and development, which no proxy watches, none.
    pub fn shutdown_delay(&self) -> Duration {
        let usual = if self.environment() == Environment::Production { SHUTDOWN_DELAY } else { Duration::ZERO };
        self.http.shutdown_delay.unwrap_or(usual)
    }

    /// `dev.data_dir`, or [`default_data_dir`] if it is unset.
    pub fn data_dir(&self) -> PathBuf {
        self.dev.data_dir.clone().unwrap_or_else(default_data_dir)
    }

    /// Where operators open the console: `operators.console_url`; in development, where the service listens.
    pub fn console_url(&self) -> Option<Url> {
        let here = || Url::parse(&format!("http://{}", self.http.listen)).ok().filter(|_| self.environment() == Environment::Development);
        self.operators.console_url.clone().or_else(here)
    }

    /// The settings of each cell, as if its database were the only one. The first is that of `database.url`.
    pub fn cells(&self) -> Vec<Self> {
        self.database.of_cells().into_iter().map(|database| Self { database, ..self.clone() }).collect()
    }

    /// `None` if the setting is empty.
    pub fn application_key(&self) -> Option<SecretString> {
        (!self.application_key.expose_secret().is_empty()).then(|| self.application_key.clone())
    }
}

/// The variables of the environment. What is not text is no setting.
fn of_this_process() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_variables(variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Config::read(&[&variables::settings(variables, DEFAULTS)?])
    }

    #[test]
    fn the_defaults_are_complete() {
        let config = Config::with(&[]).unwrap();
        assert_eq!(config.http.listen.to_string(), "127.0.0.1:8080");
        assert!(config.database.url.is_none() && config.application_key().is_none());
    }

    #[test]
    fn the_environment_changes_any_key() {
        let config = with_variables(&[
            ("PORTICO_HTTP__LISTEN", "127.0.0.1:9000"),
            ("PORTICO_HTTP__TRUSTED_PROXIES", "10.0.0.0/8, 192.168.0.0/16"),
            ("PORTICO_SMS__TWILIO__AUTH_TOKEN", "12345678"),
            ("PORTICO_DATABASE__MAX_CONNECTIONS", "5"),
            ("PORTICO_ENVIRONMENT", "production"),
            ("PORTICO_DATABASE__URL", ""),
        ])
        .unwrap();
        assert_eq!(config.http.listen.port(), 9000);
        assert_eq!(config.http.trusted_proxies.len(), 2);
        assert_eq!((config.database.max_connections.get(), config.environment()), (5, Environment::Production));
        assert!(config.database.url.is_none());
    }

    #[test]
    fn unknown_keys_and_bad_values_are_refused_by_name() {
        let refused = |name, value| with_variables(&[(name, value)]).unwrap_err().to_string();
        assert!(refused("PORTICO_HTTP__LISTN", "x").contains("listn"));
        assert!(refused("PORTICO_TYPO__KEY", "x").contains("typo"));
        assert!(refused("PORTICO_APPLICATION_KEYS", "x").contains("PORTICO_APPLICATION_KEY meant"));
        assert!(refused("PORTICO_HTTP__LISTEN", "nowhere").contains("http.listen"));
        assert!(refused("PORTICO_ENVIRONMENT", "staging").contains("development"));
        assert!(refused("PORTICO_HTTP__TRUSTED_PROXIES", "10.0.0.0/99").contains("10.0.0.0/99"));
        let misspelt = with_variables(&[("PORTICO_PROVIDERS__IPD_A__CLIENT_SECRET", "x")]).unwrap_err().to_string();
        assert_eq!(misspelt, "providers.ipd_a belongs to no entry of [[providers.oidc]]");
    }

    #[test]
    fn the_environment_changes_one_key_of_one_listed_provider() {
        let config = with_variables(&[
            ("PORTICO_PROVIDERS__IDP_A__ISSUERS", "https://a.example, https://a.example/2"),
            ("PORTICO_PROVIDERS__IDP_A__NAME", "acme-id"),
            ("PORTICO_PROVIDERS__IDP_B__CLIENT_IDS", "shop"),
        ])
        .unwrap();
        let (a, b) = (&config.providers.oidc["idp_a"], &config.providers.oidc["idp_b"]);
        assert_eq!((a.issuers.len(), a.name.to_string().as_str(), a.fields.len()), (2, "acme-id", 3));
        assert_eq!((b.client_ids.as_deref(), b.name.to_string().as_str()), (Some(&["shop".to_owned()][..]), "idp-b"));
    }

    #[test]
    fn a_file_adds_providers_and_completes_those_of_the_same_name() {
        let acme = "[[providers.oidc]]\nname = \"acme-id\"\nissuers = [\"https://acme.example\"]\n";
        let idp_b = "[[providers.oidc]]\nname = \"idp-b\"\ntimeout = \"9s\"\n[providers.acme_id]\ntoken_field = \"jwt\"";
        let config = Config::with_file(&format!("{acme}{idp_b}"), &[("providers.acme_id.client_secret", "s3cret")]).unwrap();
        let of = |word: &str| &config.providers.oidc[word];
        assert_eq!(config.providers.oidc.keys().collect::<Vec<_>>(), ["acme_id", "idp_a", "idp_b"]);
        assert_eq!((of("acme_id").client_secret.expose_secret(), of("acme_id").token_field.to_string().as_str()), ("s3cret", "jwt"));
        assert_eq!((of("idp_b").timeout, of("idp_b").client_ids.as_deref()), (Duration::from_secs(9), Some(&[][..])));
    }

    #[test]
    fn a_list_of_providers_with_a_mistake_is_refused_by_name() {
        let entry = |keys: &str| format!("[[providers.oidc]]\n{keys}\n");
        let refused = |text: &str| Config::with_file(text, &[]).unwrap_err().to_string();
        for (text, message) in [
            (entry("issuers = []"), "providers.oidc has an entry without a name"),
            (entry("name = \"Acme\""), "providers.oidc has \"Acme\": the name of a provider must have"),
            (entry("name = \"card\""), "which is the name of another section"),
            (entry("name = \"idp-c\""), "which is the name of another section"),
            (entry("name = \"acme\"").repeat(2), "providers.oidc has two entries with the name \"acme\""),
            (entry("name = \"acme\"\nissuer = \"x\""), "issuer"),
            (entry("name = \"acme\"\nfields = [\"nonce\"]"), "nonce: a further field is"),
            (entry("name = \"acme\"\ntoken_field = \"clientId\""), "token_field is the name of another field"),
            (entry("name = \"acme\"\njwks_url = \"keys\""), "providers.acme.jwks_url"),
            ("[providers.acme]\nname = \"acme\"".to_owned(), "providers.acme belongs to no entry of [[providers.oidc]]"),
            ("[providers.oidc]\nname = \"acme\"".to_owned(), "providers.oidc"),
        ] {
            let error = refused(&text);
            assert!(error.contains(message), "{text}: {error}");
        }
    }

    #[test]
    fn nothing_is_refused_where_the_service_would_stand_still() {
        for (key, nothing) in [
            ("http.header_timeout", "0s"),
            ("http.max_connections", "0"),
            ("database.max_connections", "0"),
            ("database.acquire_timeout", "0s"),
            ("database.replica_max_lag", "0s"),
            ("audit_trail.retention", "0s"),
            ("operators.fresh_for", "0s"),
            ("portal.idle_timeout", "0s"),
            ("portal.session_lifetime", "0s"),
            ("storefront.token_lifetime", "0s"),
            ("storefront.requests_per_minute", "0"),
            ("storefront.daily_mails_per_mailbox", "0"),
            ("sms.breaker.opens_after", "0"),
            ("sms.twilio.timeout", "0s"),
            ("sms.vonage.timeout", "0s"),
            ("sms.http.timeout", "0s"),
            ("providers.idp_a.timeout", "0s"),
            ("providers.idp_b.timeout", "0s"),
            ("providers.idp_c.timeout", "0s"),
            ("providers.card.timeout", "0s"),
            ("webhooks.concurrency", "0"),
            ("webhooks.endpoint_concurrency", "0"),
            ("webhooks.poll_interval", "0s"),
            ("socket.lifetime", "999ms"),
            ("socket.answer_lifetime", "0s"),
            ("http.header_timeout", "2000y"),
        ] {
            let refusal = Config::with(&[(key, nothing)]).unwrap_err().to_string();
            assert!(refusal.contains(key), "{key}: {refusal}");
        }
        // A zero delay is valid for these keys.
        assert!(Config::with(&[("storefront.erase_after", "0s"), ("sms.breaker.cool_down", "0s")]).is_ok());
    }
}
