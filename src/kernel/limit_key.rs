//! Whom a limit counts, and what it counts together with others.
//!
//! A client counts by its [network](crate::kernel::client_address::ClientAddress::network): an IPv4 address, or the /64 of an IPv6 address. A hoster
//! or a provider gives one customer a /48, which has 65,536 of these networks. So what counts for a /64 counts for its /48 as well, which may have
//! [`TIMES`] as much. A company and a mobile carrier with many devices stay below that. A client that takes another /64 for every request does not.
//!
//! The limits ask the key ([`rate_limit`](crate::kernel::rate_limit), [`tally`](crate::kernel::tally)). So each limit with a network in its key
//! counts both, and nobody who uses a limit has to think of it.

use std::hash::Hash;
use std::num::NonZeroU32;

use ipnet::{IpNet, Ipv6Net};
use uuid::Uuid;

/// How much a /48 may have of what one of its networks may have.
const TIMES: NonZeroU32 = NonZeroU32::new(16).expect("16 is not zero");
/// The length of the prefix that one customer of a hoster or of a provider gets.
const SITE: u8 = 48;

/// What a limit counts by.
pub trait LimitKey: Clone + Eq + Hash {
    /// The key of the larger network of the client, which is counted as well. `None`: there is none.
    fn larger(&self) -> Option<Self> {
        None
    }
}

/// The limit of a larger network.
pub fn of_larger(limit: NonZeroU32) -> NonZeroU32 {
    limit.saturating_mul(TIMES)
}

/// The number of places of a larger network: [`of_larger`], and at most half of all places, so that there is room for others.
pub fn places_of_larger(places: usize, all: usize) -> usize {
    places.saturating_mul(TIMES.get() as usize).min(all / 2).max(places)
}

impl LimitKey for IpNet {
    fn larger(&self) -> Option<Self> {
        match self {
            Self::V6(network) if network.prefix_len() > SITE => Ipv6Net::new(network.addr(), SITE).ok().map(|site| Self::V6(site.trunc())),
            Self::V4(_) | Self::V6(_) => None,
        }
    }
}

impl<A: Clone + Eq + Hash, K: LimitKey> LimitKey for (A, K) {
    fn larger(&self) -> Option<Self> {
        Some((self.0.clone(), self.1.larger()?))
    }
}

impl LimitKey for Uuid {}
impl LimitKey for String {}
#[cfg(test)]
impl LimitKey for &'static str {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_64_is_counted_with_its_48_whatever_else_the_key_consists_of() {
        let network = |text: &str| text.parse::<IpNet>().unwrap();
        assert_eq!(network("2001:db8:1:2::/64").larger(), Some(network("2001:db8:1::/48")));
        assert_eq!((Uuid::nil(), network("2001:db8:1:2::/64")).larger(), Some((Uuid::nil(), network("2001:db8:1::/48"))));
        assert_eq!(network("2001:db8:1::/48").larger(), None);
        assert_eq!(network("203.0.113.9/32").larger(), None);
        assert_eq!((Uuid::nil(), "ada".to_owned()).larger(), None);
    }

    #[test]
    fn a_48_never_has_more_than_half_of_all_places_nor_less_than_one_network() {
        assert_eq!(
            [(8, 64), (8, 1_000), (16, 128), (12, 24), (20, 24)].map(|(places, all)| places_of_larger(places, all)),
            [32, 128, 64, 12, 20]
        );
        assert_eq!(of_larger(NonZeroU32::new(600).unwrap()).get(), 9_600);
    }
}
