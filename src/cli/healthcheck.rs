//! `portico healthcheck`: checks that the service on this machine is alive or ready, for container images without `curl`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use clap::Args;
use reqwest::Client;

use crate::cli::Failure;
use crate::config::Config;

/// A service that takes longer to respond is not alive.
const TIME_LIMIT: Duration = Duration::from_secs(3);

/// `portico healthcheck`
#[derive(Args, Debug)]
pub(super) struct Arguments {
    /// Fail unless it is ready for requests, too
    #[arg(long)]
    ready: bool,
}

/// Fails unless `GET /healthz`, or `GET /readyz`, on `http.listen` succeeds.
pub(super) async fn run(config: &Config, arguments: &Arguments) -> Result<(), Failure> {
    let path = if arguments.ready { "readyz" } else { "healthz" };
    let url = format!("http://{}/{path}", as_destination(config.http.listen));
    // A proxy in the environment is not meant for requests to this machine.
    let client = Client::builder().no_proxy().timeout(TIME_LIMIT).build()?;
    client.get(url).send().await?.error_for_status()?;
    Ok(())
}

/// The address for a client on this machine. The unspecified address ("all addresses") is replaced with loopback.
fn as_destination(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        ip if !ip.is_unspecified() => ip,
        IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    };
    SocketAddr::new(ip, listen.port())
}

#[cfg(test)]
mod tests {
    use wiremock::matchers::path;
    use wiremock::{Mock, MockServer, ResponseTemplate};

    use super::*;

    #[test]
    fn a_service_on_all_addresses_is_checked_on_loopback() {
        let cases = [("0.0.0.0:8080", "127.0.0.1:8080"), ("[::]:8080", "[::1]:8080"), ("10.0.0.7:80", "10.0.0.7:80")];
        for (listen, destination) in cases {
            assert_eq!(as_destination(listen.parse().unwrap()).to_string(), destination);
        }
    }

    #[tokio::test]
    async fn only_a_success_response_is_healthy() {
        let service = MockServer::start().await;
        let config = Config::with(&[("http.listen", &service.address().to_string())]).unwrap();
        let (alive, ready) = (Arguments { ready: false }, Arguments { ready: true });
        assert!(run(&config, &alive).await.is_err());
        Mock::given(path("/healthz")).respond_with(ResponseTemplate::new(200)).mount(&service).await;
        assert!(run(&config, &alive).await.is_ok() && run(&config, &ready).await.is_err());
        Mock::given(path("/readyz")).respond_with(ResponseTemplate::new(200)).mount(&service).await;
        assert!(run(&config, &ready).await.is_ok());
    }
}
