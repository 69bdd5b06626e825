//! The networks that an API key may be used from.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// The maximum number of networks, so that the list stays reviewable.
const MAX_NETWORKS: usize = 50;

/// The allowed client networks. Empty means all addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct AllowedNetworks(Vec<IpNet>);

/// The texts are not a valid list of networks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidNetworks {
    /// The first text that is neither an address nor a network.
    #[error("{0:?} is neither an address nor a network such as 203.0.113.0/24.")]
    Unreadable(String),
    /// There are more than 50, counted before duplicates are removed.
    #[error("At most {MAX_NETWORKS} networks are allowed.")]
    TooMany,
}

impl AllowedNetworks {
    /// Whether requests from `address` are allowed.
    pub fn admit(&self, address: IpAddr) -> bool {
        self.0.is_empty() || self.0.iter().any(|network| network.contains(&address))
    }

    /// Whether `other` allows every address that these networks allow.
    pub fn are_within(&self, other: &Self) -> bool {
        let covered = |network: &IpNet| other.0.iter().any(|wider| wider.contains(network));
        other.0.is_empty() || (!self.0.is_empty() && self.0.iter().all(covered))
    }

    /// The networks in CIDR notation, for storage and responses.
    pub fn texts(&self) -> Vec<String> {
        self.0.iter().map(IpNet::to_string).collect()
    }
}

impl TryFrom<Vec<String>> for AllowedNetworks {
    type Error = InvalidNetworks;

    fn try_from(texts: Vec<String>) -> Result<Self, InvalidNetworks> {
        if texts.len() > MAX_NETWORKS {
            return Err(InvalidNetworks::TooMany);
        }
        let mut networks = texts.iter().map(|text| read(text)).collect::<Result<Vec<_>, _>>()?;
        networks.sort_unstable();
        networks.dedup();
        Ok(Self(networks))
    }
}

impl From<AllowedNetworks> for Vec<String> {
    fn from(networks: AllowedNetworks) -> Self {
        networks.texts()
    }
}

fn read(text: &str) -> Result<IpNet, InvalidNetworks> {
    let text = text.trim();
    let network = text.parse::<IpNet>().or_else(|_| text.parse::<IpAddr>().map(|address| IpNet::from(address.to_canonical())));
    network.map(|network| network.trunc()).map_err(|_| InvalidNetworks::Unreadable(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn networks(texts: &[&str]) -> AllowedNetworks {
        texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>().try_into().unwrap()
    }

    #[test]
    fn an_empty_list_allows_all_addresses_and_any_other_only_its_own() {
        let address = |text: &str| text.parse().unwrap();
        assert!(networks(&[]).admit(address("203.0.113.9")));
        let office = networks(&["203.0.113.7/24", "2001:db8::1"]);
        assert_eq!(office.texts(), ["203.0.113.0/24", "2001:db8::1/128"]);
        assert!(office.admit(address("203.0.113.9")) && office.admit(address("2001:db8::1")));
        assert!(!office.admit(address("203.0.114.9")) && !office.admit(address("2001:db8::2")));
    }

    #[test]
    fn a_list_is_within_another_if_it_allows_no_other_address() {
        let (anywhere, office, desk) = (networks(&[]), networks(&["203.0.113.0/24"]), networks(&["203.0.113.9"]));
        for (narrow, wide) in [(&desk, &office), (&desk, &anywhere), (&office, &office), (&anywhere, &anywhere)] {
            assert!(narrow.are_within(wide), "{narrow:?} within {wide:?}");
        }
        for (wide, narrow) in [(&office, &desk), (&anywhere, &desk), (&networks(&["203.0.113.9", "9.9.9.9"]), &office)] {
            assert!(!wide.are_within(narrow), "{wide:?} within {narrow:?}");
        }
    }

    #[test]
    fn an_invalid_network_is_refused() {
        for text in ["", "office", "203.0.113.0/33", "203.0.113"] {
            assert!(AllowedNetworks::try_from(vec![text.to_owned()]).is_err(), "{text:?}");
        }
        assert_eq!(AllowedNetworks::try_from(vec!["9.9.9.9".to_owned(); 51]), Err(InvalidNetworks::TooMany));
    }
}
