//! The places of open connections: so many in all, and so many for one client address.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::kernel::client_address::{ClientAddress, TrustedProxies};
use crate::kernel::tally::{Counted, Tally};

/// How often it is logged that connections are closed.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// The places of a server.
#[derive(Debug)]
pub struct Places {
    all: Arc<Semaphore>,
    most: usize,
    by_network: Tally<IpNet>,
    per_address: usize,
    proxies: TrustedProxies,
    closed: u64,
    logged_at: Option<Instant>,
}

/// The place of an open connection.
#[derive(Debug)]
pub struct Place {
    _counted: Option<Counted<IpNet>>,
    _place: OwnedSemaphorePermit,
}

impl Places {
    pub fn new(all: NonZeroU32, per_address: NonZeroU32, proxies: TrustedProxies) -> Self {
        let (most, per_address) = (all.get() as usize, per_address.get() as usize);
        Self { all: Arc::new(Semaphore::new(most)), most, by_network: Tally::default(), per_address, proxies, closed: 0, logged_at: None }
    }

    /// Waits for a place.
    pub async fn free(&self) -> OwnedSemaphorePermit {
        Arc::clone(&self.all).acquire_owned().await.expect("the semaphore is never closed")
    }

    /// Gives a place to a client, unless its address has as many as one address may have, or as many as are free: there is always room
    /// for another address. A trusted proxy has the connections of many clients, and as many places as there are.
    pub fn give(&mut self, place: OwnedSemaphorePermit, client: SocketAddr) -> Option<Place> {
        let address = client.ip().to_canonical();
        if self.proxies.trusts(address) {
            return Some(Place { _counted: None, _place: place });
        }
        // The place of this connection counts as free.
        let limit = self.per_address.min(self.all.available_permits() + 1);
        let counted = self.by_network.take(ClientAddress::of_peer(address).network(), limit, self.most);
        if counted.is_none() {
            self.log_closed(address);
        }
        Some(Place { _counted: Some(counted?), _place: place })
    }

    fn log_closed(&mut self, address: IpAddr) {
        self.closed += 1;
        if self.logged_at.is_none_or(|logged_at| logged_at.elapsed() >= LOG_INTERVAL) {
            self.logged_at = Some(Instant::now());
            let (closed, network) = (std::mem::take(&mut self.closed), if address.is_ipv4() { "IPv4" } else { "IPv6" });
            tracing::warn!(
                closed,
                network,
                "connections beyond http.max_connections_per_address are closed; is a proxy missing in http.trusted_proxies?"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::client_address::ForwardedHeader;

    fn number(number: u32) -> NonZeroU32 {
        NonZeroU32::new(number).unwrap()
    }

    async fn taken(places: &mut Places, client: &str, tries: usize) -> Vec<Place> {
        let mut taken = Vec::new();
        for _ in 0..tries {
            let free = places.free().await;
            taken.extend(places.give(free, format!("{client}:5000").parse().unwrap()));
        }
        taken
    }

    #[tokio::test]
    async fn one_address_gets_its_share_and_leaves_room_for_another() {
        let places = &mut Places::new(number(24), number(1_000), TrustedProxies::default());
        let first = taken(places, "203.0.113.1", 100).await;
        let second = taken(places, "203.0.113.2", 100).await;
        assert_eq!((first.len(), second.len()), (12, 6));
        drop(first);
        assert_eq!(taken(places, "[2001:db8::1]", 100).await.len(), 9);
        let of_network = [taken(places, "[2001:db8:0:1::1]", 5).await, taken(places, "[2001:db8:0:1::2]", 100).await];
        assert_eq!(of_network.iter().flatten().count(), 9, "a /64 counts as one address");
        let places = &mut Places::new(number(10_000), number(1_000), TrustedProxies::default());
        assert_eq!(taken(places, "203.0.113.1", 2_000).await.len(), 1_000);
        assert_eq!(taken(&mut Places::new(number(1), number(1), TrustedProxies::default()), "203.0.113.1", 1).await.len(), 1);
    }

    #[tokio::test]
    async fn the_networks_of_a_48_get_half_of_all_places_together() {
        let places = &mut Places::new(number(100), number(10), TrustedProxies::default());
        let mut open = Vec::new();
        for network in 0..40 {
            open.extend(taken(places, &format!("[2001:db8:1:{network:x}::1]"), 2).await);
        }
        assert_eq!(open.len(), 50);
        assert_eq!(taken(places, "[2001:db8:2::1]", 20).await.len(), 10, "there is room for another one");
    }

    #[tokio::test]
    async fn a_trusted_proxy_gets_all_places() {
        let places =
            &mut Places::new(number(24), number(2), TrustedProxies::new(&["10.0.0.0/8".parse().unwrap()], ForwardedHeader::default()));
        assert_eq!(taken(places, "10.0.0.1", 24).await.len(), 24);
    }
}
