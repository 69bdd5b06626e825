//! The listener of the metrics (`http.admin_listen`).

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroU32;
use std::time::Duration;

use crate::app::Metrics;
use crate::config::Http;
use crate::kernel::client_address::TrustedProxies;
use crate::kernel::error_chain::chain;
use crate::kernel::http_server::{self, Limits};
use crate::kernel::lifecycle::Lifecycle;

/// Open connections. Few programs ask, and each of them every few seconds.
const CONNECTIONS: NonZeroU32 = NonZeroU32::new(16).expect("it is not zero");
/// The timeout of a request head and of a client that does not read.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A listener that is not served yet.
#[derive(Debug)]
pub struct AdminListener(TcpListener);

impl AdminListener {
    /// Listens where the settings say. `None` if they say nowhere, or say nothing and another program has the usual port: a second instance
    /// on one machine works without metrics rather than not at all.
    ///
    /// # Errors
    /// The address that was set cannot be listened on.
    pub fn bind(settings: &Http) -> Result<Option<Self>, (SocketAddr, io::Error)> {
        let Some(address) = settings.metrics_address() else { return Ok(None) };
        match TcpListener::bind(address) {
            Ok(listener) => Ok(Some(Self(listener))),
            Err(error) if settings.admin_listen.is_none() && error.kind() == io::ErrorKind::AddrInUse => {
                tracing::warn!(
                    %address,
                    error = chain(&error),
                    "there are no metrics, because another program has their usual port: set http.admin_listen to another one, or to \"off\""
                );
                Ok(None)
            }
            Err(error) => Err((address, error)),
        }
    }

    /// Serves `metrics` until `lifecycle` ends.
    pub fn serve(self, metrics: Metrics, lifecycle: &Lifecycle) {
        let limits = Limits {
            header_timeout: TIMEOUT,
            write_timeout: TIMEOUT,
            connections: CONNECTIONS,
            connections_per_address: CONNECTIONS,
            proxies: TrustedProxies::default(),
        };
        let serving = http_server::serve(self.0, metrics.router(), limits, lifecycle.stopping().clone());
        lifecycle.spawn(async move {
            match serving.await {
                Ok(leftover) => leftover.end().await,
                Err(error) => tracing::error!(error = chain(&error), "the metrics cannot be served"),
            }
        });
    }
}
