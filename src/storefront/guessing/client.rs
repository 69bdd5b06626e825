//! The client of a request, as guesses are counted by it.

use ipnet::IpNet;

use crate::kernel::client_address::ClientAddress;
use crate::kernel::crypto::sha256;

/// Where a request comes from.
#[derive(Clone, Copy, Debug)]
pub struct Client {
    /// An IPv4 address, or the /64 of an IPv6 address.
    pub network: IpNet,
    /// An IPv4 address, or the /48 of an IPv6 address.
    pub place: IpNet,
    /// The digest by which the client is known again.
    pub mark: [u8; 32],
}

impl Client {
    /// The client with this address and user agent.
    pub fn new(address: ClientAddress, user_agent: Option<&str>) -> Self {
        let network = address.network();
        Self { network, place: address.place(), mark: sha256(format!("{network} {}", user_agent.unwrap_or_default())) }
    }
}
