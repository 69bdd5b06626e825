//! The client's address: the peer's, or the one a trusted proxy reports. A client cannot choose its own.

mod entries;

use std::convert::Infallible;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::extract::{ConnectInfo, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, header};
use ipnet::IpNet;

use crate::kernel::limit_key::LimitKey;

/// The header in which trusted proxies name the client (`http.forwarded_header`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(try_from = "String")]
pub enum ForwardedHeader {
    /// `X-Forwarded-For`
    #[default]
    XForwardedFor,
    /// `Forwarded`, RFC 7239
    Forwarded,
}

impl ForwardedHeader {
    fn name(self) -> HeaderName {
        match self {
            Self::XForwardedFor => HeaderName::from_static("x-forwarded-for"),
            Self::Forwarded => header::FORWARDED,
        }
    }

    fn other(self) -> Self {
        match self {
            Self::XForwardedFor => Self::Forwarded,
            Self::Forwarded => Self::XForwardedFor,
        }
    }

    /// The clients that the lines of the header name, from the nearest proxy's to the farthest. `None`: an entry that cannot be read.
    fn clients(self, headers: &HeaderMap) -> impl Iterator<Item = Option<IpAddr>> {
        let lines: Vec<_> = headers.get_all(self.name()).iter().collect();
        lines.into_iter().rev().flat_map(move |line| {
            // A line that is not text counts as one entry.
            let entries = match (line.to_str(), self) {
                (Err(_), _) => vec![None],
                (Ok(line), Self::XForwardedFor) => entries::of_x_forwarded_for(line),
                (Ok(line), Self::Forwarded) => entries::of_forwarded(line),
            };
            entries.into_iter().rev()
        })
    }
}

impl FromStr for ForwardedHeader {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = [Self::XForwardedFor, Self::Forwarded].into_iter().find(|header| header.name().as_str().eq_ignore_ascii_case(text));
        named.ok_or("http.forwarded_header must be \"X-Forwarded-For\" or \"Forwarded\"")
    }
}

impl TryFrom<String> for ForwardedHeader {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

/// The networks of proxies that are trusted to name the client (`http.trusted_proxies`), and how they do.
#[derive(Clone, Debug, Default)]
pub struct TrustedProxies(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    networks: Vec<IpNet>,
    header: ForwardedHeader,
    /// Whether it was logged that an entry cannot be read. Once, because every further request of the proxy would be the same.
    unreadable_logged: AtomicBool,
}

impl TrustedProxies {
    /// Trusts proxies in any of `networks`, which name the client in `header`.
    pub fn new(networks: &[IpNet], header: ForwardedHeader) -> Self {
        Self(Arc::new(Inner { networks: networks.to_vec(), header, unreadable_logged: AtomicBool::new(false) }))
    }

    /// Whether the address is that of a trusted proxy.
    pub fn trusts(&self, address: IpAddr) -> bool {
        self.0.networks.iter().any(|network| network.contains(&address))
    }

    /// Until an operator corrects this, all clients of the proxy count as one.
    fn log_unreadable(&self, proxy: IpAddr) {
        if !self.0.unreadable_logged.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                %proxy,
                header = %self.0.header.name(),
                "a trusted proxy does not name its client readably: limits count its clients as one (logged once; http.forwarded_header)"
            );
        }
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
    /// a whole /64. The limits count its /48 as well ([`limit_key`](crate::kernel::limit_key)).
    pub fn network(self) -> IpNet {
        let prefix = if self.0.is_ipv4() { 32 } else { 64 };
        IpNet::new(self.0, prefix).expect("32 and 64 are valid prefix lengths for their address families").trunc()
    }

    /// The place that the limits of one account count by: an IPv4 address, or the /48 of an IPv6 address. An account has few tries from one place,
    /// and one attacker does not get them again with each /64.
    pub fn place(self) -> IpNet {
        let network = self.network();
        network.larger().unwrap_or(network)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for ClientAddress {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let address = parts.extensions.get::<Self>().copied();
        Ok(address.expect("the request layer adds it to every request"))
    }
}

/// The client address of `request`: the right-most entry of the forwarded header that is not itself a trusted proxy, if the peer is a
/// trusted proxy.
pub fn of(request: &Request, trusted: &TrustedProxies) -> ClientAddress {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip());
    // Without a peer (a router called directly) all clients count as one: limits are then too strict, never too lax.
    let peer = peer.unwrap_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED)).to_canonical();
    ClientAddress(behind(peer, request.headers(), trusted))
}

fn behind(peer: IpAddr, headers: &HeaderMap, trusted: &TrustedProxies) -> IpAddr {
    let header = trusted.0.header;
    let mut address = peer;
    for client in header.clients(headers) {
        if !trusted.trusts(address) {
            return address;
        }
        // What stands left of an entry that cannot be read may be the client's own invention.
        let Some(client) = client else {
            trusted.log_unreadable(address);
            return address;
        };
        address = client.to_canonical();
    }
    // A request without either header is the proxy's own, such as a health check.
    if address == peer && trusted.trusts(peer) && headers.contains_key(header.other().name()) {
        trusted.log_unreadable(peer);
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(trusted: &[&str], header: ForwardedHeader) -> TrustedProxies {
        let networks: Vec<IpNet> = trusted.iter().map(|network| network.parse().unwrap()).collect();
        TrustedProxies::new(&networks, header)
    }

    fn behind_proxies(peer: &str, (name, lines): (&'static str, &[&str]), proxies: &TrustedProxies) -> String {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(name, line.parse().unwrap());
        }
        super::behind(peer.parse().unwrap(), &headers, proxies).to_string()
    }

    fn behind(peer: &str, forwarded: &[&str], trusted: &[&str]) -> String {
        behind_proxies(peer, ("x-forwarded-for", forwarded), &proxies(trusted, ForwardedHeader::XForwardedFor))
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
    fn ports_do_not_make_an_entry_unreadable() {
        assert_eq!(behind("10.0.0.1", &["203.0.113.9:51234"], &["10.0.0.0/8"]), "203.0.113.9");
        assert_eq!(behind("10.0.0.1", &["1.1.1.1, [2001:db8::9]:443, 10.0.0.2:80"], &["10.0.0.0/8"]), "2001:db8::9");
    }

    #[test]
    fn only_the_header_that_is_named_counts() {
        let forwarded = proxies(&["10.0.0.0/8"], ForwardedHeader::Forwarded);
        assert_eq!(
            behind_proxies("10.0.0.1", ("forwarded", &["for=1.1.1.1", "for=\"203.0.113.9:1\", for=10.0.0.2"]), &forwarded),
            "203.0.113.9"
        );
        assert!(!forwarded.0.unreadable_logged.load(Ordering::Relaxed));
        assert_eq!(behind_proxies("10.0.0.1", ("x-forwarded-for", &["203.0.113.9"]), &forwarded), "10.0.0.1");
        assert!(forwarded.0.unreadable_logged.load(Ordering::Relaxed), "the proxy writes the other header");
        assert_eq!("forwarded".parse(), Ok(ForwardedHeader::Forwarded));
        assert_eq!("X-Forwarded-For".parse(), Ok(ForwardedHeader::XForwardedFor));
        assert!("X-Real-IP".parse::<ForwardedHeader>().is_err());
    }

    #[test]
    fn what_a_client_writes_is_never_reported_as_the_proxys_mistake() {
        let proxies = proxies(&["10.0.0.0/8"], ForwardedHeader::XForwardedFor);
        let logged = |peer, header| {
            behind_proxies(peer, header, &proxies);
            proxies.0.unreadable_logged.load(Ordering::Relaxed)
        };
        assert!(!logged("203.0.113.9", ("x-forwarded-for", &["nonsense"])));
        assert!(!logged("203.0.113.9", ("forwarded", &["for=1.1.1.1"])));
        assert!(!logged("10.0.0.1", ("x-forwarded-for", &["nonsense, 203.0.113.9"])));
        assert!(!logged("10.0.0.1", ("user-agent", &["health check"])));
        assert!(logged("10.0.0.1", ("x-forwarded-for", &["203.0.113.9, unknown"])));
    }

    #[test]
    fn ipv6_clients_count_by_their_64() {
        let network = |text: &str| ClientAddress(text.parse().unwrap()).network();
        assert_eq!(network("2001:db8::1"), network("2001:db8::ffff:2"));
        assert_ne!(network("2001:db8::1"), network("2001:db8:0:1::1"));
        let place = |text: &str| ClientAddress(text.parse().unwrap()).place().to_string();
        assert_eq!(["2001:db8:7:1::1", "203.0.113.9"].map(place), ["2001:db8:7::/48", "203.0.113.9/32"]);
    }
}
