//! `[http]`

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use ipnet::IpNet;

use crate::config::AdminListen;
use crate::kernel::client_address::{ForwardedHeader, TrustedProxies};
use crate::kernel::web_origin::WebOrigin;
use crate::kernel::{http_server, settings};

/// `[http]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Http {
    /// Address and port to listen on.
    pub listen: SocketAddr,
    /// Where `/metrics` is. `None`: [`AdminListen::default`].
    #[serde(deserialize_with = "settings::optional")]
    pub admin_listen: Option<AdminListen>,
    /// The time in which the head of a request must arrive.
    #[serde(deserialize_with = "settings::time")]
    pub header_timeout: Duration,
    /// Maximum number of open connections. Further ones wait in the system's queue.
    pub max_connections: NonZeroU32,
    /// Maximum number of open connections of one client address, except of a trusted proxy. Further ones are closed at once.
    pub max_connections_per_address: NonZeroU32,
    /// How long a response may wait for a client that does not read it.
    #[serde(deserialize_with = "settings::time")]
    pub write_timeout: Duration,
    /// Networks of proxies whose [`forwarded_header`](Self::forwarded_header) is trusted.
    #[serde(deserialize_with = "settings::list")]
    pub trusted_proxies: Vec<IpNet>,
    /// The header in which these proxies name the client.
    pub forwarded_header: ForwardedHeader,
    /// Origins of web pages that may call the service (CORS). An unlisted page must not get a customer's token.
    #[serde(deserialize_with = "settings::list")]
    pub cors_origins: Vec<WebOrigin>,
    /// How long `/readyz` fails before the listener closes on SIGTERM. `None`: see `Config::shutdown_delay`.
    #[serde(deserialize_with = "settings::optional_time")]
    pub shutdown_delay: Option<Duration>,
}

impl Http {
    /// Where the metrics are served. `None`: nowhere.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        match self.admin_listen.unwrap_or_default() {
            AdminListen::At(address) => Some(address),
            AdminListen::Off => None,
        }
    }

    /// The limits of connections, as the server takes them.
    pub fn limits(&self) -> http_server::Limits {
        http_server::Limits {
            header_timeout: self.header_timeout,
            write_timeout: self.write_timeout,
            connections: self.max_connections,
            connections_per_address: self.max_connections_per_address,
            proxies: TrustedProxies::new(&self.trusted_proxies, self.forwarded_header),
        }
    }
}
