//! All settings: `config/default.toml`, then a file, then environment variables. Unknown keys are rejected.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use axum::http::HeaderValue;
use config::{ConfigError, Environment as Variables, File, FileFormat};
use ipnet::IpNet;
use nix::unistd::geteuid;
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use crate::kernel::{database, http_server, logging, settings};
use crate::providers::{self, mail, sms};
use crate::{audit_trail, declared, developers, gateways, realtime, storefront, webhooks};

const DEFAULTS: &str = include_str!("../config/default.toml");

/// The settings of all modules.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    #[serde(deserialize_with = "settings::optional")]
    environment: Option<Environment>,
    application_key: SecretString,
    /// `[http]`
    pub http: Http,
    /// `[database]`
    pub database: database::Settings,
    /// `[log]`
    pub log: logging::Settings,
    /// `[audit_trail]`
    pub audit_trail: audit_trail::Settings,
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

/// `[http]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Http {
    /// Address and port to listen on.
    pub listen: SocketAddr,
    /// The time in which the head of a request must arrive.
    #[serde(deserialize_with = "settings::time")]
    pub header_timeout: Duration,
    /// Maximum number of open connections.
    pub max_connections: NonZeroU32,
    /// Networks of proxies whose `X-Forwarded-For` is trusted.
    #[serde(deserialize_with = "settings::list")]
    pub trusted_proxies: Vec<IpNet>,
    /// Origins of web pages that may call the service (CORS).
    #[serde(deserialize_with = "settings::list")]
    pub cors_origins: Vec<CorsOrigin>,
}

impl Http {
    /// The limits of connections.
    pub fn limits(&self) -> http_server::Limits {
        http_server::Limits { header_timeout: self.header_timeout, connections: self.max_connections }
    }
}

/// The origin of a web page: only scheme, host and port. `*` is not allowed, because an unlisted page must not get a customer's token.
#[derive(Clone, Debug)]
pub struct CorsOrigin(pub HeaderValue);

impl std::str::FromStr for CorsOrigin {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "https" | "http"));
        match url.map(|url| url.origin().ascii_serialization()) {
            Some(origin) if origin == text => HeaderValue::from_str(text).map(Self).map_err(|_| "is not an origin"),
            _ => Err("is not an origin such as https://shop.example"),
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
        Self::read(file, Variables::with_prefix("PORTICO").prefix_separator("_").separator("__"))
    }

    /// The defaults with some keys replaced, for tests: `("http.listen", "127.0.0.1:0")`.
    pub fn with(changes: &[(&str, &str)]) -> Result<Self, ConfigError> {
        let mut builder = config::Config::builder().add_source(File::from_str(DEFAULTS, FileFormat::Toml));
        for (key, value) in changes {
            builder = builder.set_override(key, *value)?;
        }
        builder.build()?.try_deserialize()
    }

    fn read(file: Option<&Path>, variables: Variables) -> Result<Self, ConfigError> {
        let mut builder = config::Config::builder().add_source(File::from_str(DEFAULTS, FileFormat::Toml));
        if let Some(file) = file {
            builder = builder.add_source(File::from(file).format(FileFormat::Toml));
        }
        builder.add_source(variables).build()?.try_deserialize()
    }

    /// The configured environment. If unset, debug builds use development and release builds use production.
    pub fn environment(&self) -> Environment {
        let of_the_build = if cfg!(debug_assertions) { Environment::Development } else { Environment::Production };
        self.environment.unwrap_or(of_the_build)
    }

    /// Where development keeps its database, keys and certificates.
    pub fn data_dir(&self) -> PathBuf {
        self.dev.data_dir.clone().unwrap_or_else(default_data_dir)
    }

    /// The configured application key.
    pub fn application_key(&self) -> Option<SecretString> {
        (!self.application_key.expose_secret().is_empty()).then(|| self.application_key.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_variables(variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Config::read(None, Variables::with_prefix("PORTICO").prefix_separator("_").separator("__").source(Some(variables)))
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
        assert!(refused("PORTICO_TYPO", "x").contains("typo"));
        assert!(refused("PORTICO_HTTP__LISTEN", "nowhere").contains("http.listen"));
        assert!(refused("PORTICO_ENVIRONMENT", "staging").contains("development"));
        assert!(refused("PORTICO_HTTP__TRUSTED_PROXIES", "10.0.0.0/99").contains("10.0.0.0/99"));
    }

    #[test]
    fn nothing_is_refused_where_the_service_would_stand_still() {
        for (key, nothing) in [
            ("http.header_timeout", "0s"),
            ("http.max_connections", "0"),
            ("database.max_connections", "0"),
            ("database.acquire_timeout", "0s"),
            ("audit_trail.retention", "0s"),
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
