//! Grants: the scopes, allowed networks and expiry of an API key, and the comparison of two grants.

use chrono::{DateTime, Utc};

use crate::companies::{AllowedNetworks, Scope, Scopes};

/// Everything that can make one key more powerful than another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The scopes.
    pub scopes: Scopes,
    /// The networks that the key may be used from.
    pub networks: AllowedNetworks,
    /// When the key ends, because it expires or was rotated; `None` for never.
    pub until: Option<DateTime<Utc>>,
}

/// How one grant exceeds another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Excess {
    /// It has a scope that the other lacks.
    #[error("An API key without the scope {0} cannot give it to another.")]
    Scope(Scope),
    /// It can be used from networks that the other cannot.
    #[error("An API key that is bound to networks cannot make one that can be used from elsewhere.")]
    Networks,
    /// It ends later than the other.
    #[error("An API key that ends cannot make one that lives longer.")]
    Lifetime,
}

impl Grant {
    /// How this grant exceeds `other`, if it does.
    pub fn beyond(&self, other: &Self) -> Option<Excess> {
        let outlives = other.until.is_some_and(|end| self.until.is_none_or(|until| until > end));
        match self.scopes.beyond(&other.scopes) {
            Some(scope) => Some(Excess::Scope(scope)),
            None if !self.networks.are_within(&other.networks) => Some(Excess::Networks),
            None if outlives => Some(Excess::Lifetime),
            None => None,
        }
    }
}

/// These scopes, without restriction of networks or time.
impl From<Scopes> for Grant {
    fn from(scopes: Scopes) -> Self {
        Self { scopes, networks: AllowedNetworks::default(), until: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(scopes: &[Scope], networks: &[&str], until: Option<i64>) -> Grant {
        let networks: Vec<String> = networks.iter().map(|text| (*text).to_owned()).collect();
        let until = until.map(|second| DateTime::from_timestamp(second, 0).unwrap());
        Grant { scopes: Scopes::new(scopes.iter().copied()), networks: networks.try_into().unwrap(), until }
    }

    #[test]
    fn a_grant_is_beyond_another_by_scope_network_or_lifetime() {
        let office = grant(&[Scope::Read, Scope::Write], &["203.0.113.0/24"], Some(100));
        let beyond = |scopes: &[Scope], networks: &[&str], until| grant(scopes, networks, until).beyond(&office);
        assert_eq!(beyond(&[Scope::Read], &["203.0.113.9"], Some(100)), None);
        assert_eq!(beyond(&[Scope::Read, Scope::Admin], &["203.0.113.9"], Some(9)), Some(Excess::Scope(Scope::Admin)));
        assert_eq!(beyond(&[Scope::Read], &[], Some(9)), Some(Excess::Networks));
        assert_eq!(beyond(&[Scope::Read], &["203.0.113.9"], None), Some(Excess::Lifetime));
        assert_eq!(beyond(&[Scope::Read], &["203.0.113.9"], Some(101)), Some(Excess::Lifetime));
        let anything = grant(&[Scope::Admin], &[], None);
        assert_eq!(office.beyond(&anything), None);
        assert_eq!(anything.beyond(&anything), None);
    }
}
