//! The client's address: the peer's, or the one a trusted proxy reports. A client cannot choose its own.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use axum::extract::{ConnectInfo, FromRequestParts, Request};
use axum::http::HeaderMap;
use axum::http::request::Parts;
use ipnet::IpNet;

/// The networks of proxies whose `X-Forwarded-For` is trusted (`http.trusted_proxies`).
#[derive(Clone, Debug, Default)]
pub struct TrustedProxies(Arc<[IpNet]>);

impl TrustedProxies {
    /// Trusts proxies in any of `networks`.
    pub fn new(networks: &[IpNet]) -> Self {
        Self(networks.into())
    }

    /// Whether the address is that of a trusted proxy.
    pub fn trusts(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&address))
    }
}

/// The client address that rate limits are counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClientAddress(IpAddr);

impl ClientAddress {
    /// The address of a request that comes from this process itself.
    pub fn of_this_process() -> Self {
        Self(IpAddr::V6(Ipv6Addr::LOCALHOST))
    }

    /// The address of a peer, for what concerns its connection and not a request.
    pub fn of_peer(peer: IpAddr) -> Self {
        Self(peer.to_canonical())
    }

    /// The full address, for the audit log.
    pub fn ip(self) -> IpAddr {
        self.0
    }

    /// The network that rate limits count by: an IPv4 address, or the /64 of an IPv6 address, because one household or server owns
    /// a whole /64.
    pub fn network(self) -> IpNet {
        let prefix = if self.0.is_ipv4() { 32 } else { 64 };
        IpNet::new(self.0, prefix).expect("32 and 64 are valid prefix lengths for their address families").trunc()
    }
}

impl<S: Send + Sync> FromRequestParts<S> for ClientAddress {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let address = parts.extensions.get::<Self>().copied();
        Ok(address.expect("the request layer adds it to every request"))
    }
}

/// The client address of `request`: the right-most entry of `X-Forwarded-For` that is not itself a trusted proxy, if the peer is a
/// trusted proxy.
pub fn of(request: &Request, trusted: &TrustedProxies) -> ClientAddress {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip());
    // Without a peer (a router called directly) all clients count as one: limits are then too strict, never too lax.
    let peer = peer.unwrap_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED)).to_canonical();
    ClientAddress(behind(peer, request.headers(), trusted))
}

fn behind(peer: IpAddr, headers: &HeaderMap, trusted: &TrustedProxies) -> IpAddr {
    let mut address = peer;
    // An unreadable header line counts as one unreadable entry.
    let lines: Vec<_> = headers.get_all("x-forwarded-for").iter().map(|line| line.to_str().unwrap_or("unreadable")).collect();
    for entry in lines.iter().rev().flat_map(|line| line.rsplit(',')) {
        if !trusted.trusts(address) {
            break;
        }
        // A trusted proxy does not write an unreadable entry, so the last valid address is the client's.
        let Ok(entry) = entry.trim().parse::<IpAddr>() else { break };
        address = entry.to_canonical();
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    fn behind(peer: &str, forwarded: &[&str], trusted: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for line in forwarded {
            headers.append("x-forwarded-for", line.parse().unwrap());
        }
        let networks: Vec<IpNet> = trusted.iter().map(|network| network.parse().unwrap()).collect();
        super::behind(peer.parse().unwrap(), &headers, &TrustedProxies::new(&networks)).to_string()
    }

    #[test]
    fn a_client_cannot_choose_its_own_address() {
        assert_eq!(behind("203.0.113.9", &["10.9.9.9"], &[]), "203.0.113.9");
        assert_eq!(behind("10.0.0.1", &["1.1.1.1, 203.0.113.9"], &["10.0.0.0/8"]), "203.0.113.9");
        assert_eq!(behind("10.0.0.1", &["1.1.1.1", "203.0.113.9, 10.0.0.2"], &["10.0.0.0/8"]), "203.0.113.9");
        assert_eq!(behind("10.0.0.1", &["203.0.113.9, nonsense"], &["10.0.0.0/8"]), "10.0.0.1");
        assert_eq!(behind("10.0.0.1", &[], &["10.0.0.0/8"]), "10.0.0.1");
    }

    #[test]
    fn ipv6_clients_count_by_their_64() {
        let network = |text: &str| ClientAddress(text.parse().unwrap()).network();
        assert_eq!(network("2001:db8::1"), network("2001:db8::ffff:2"));
        assert_ne!(network("2001:db8::1"), network("2001:db8:0:1::1"));
    }
}
