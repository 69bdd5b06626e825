//! What an API key may do, from where and until when; and whether one grant goes beyond another.

use chrono::{DateTime, Utc};

use crate::companies::{AllowedNetworks, Scope, Scopes};

/// Everything that makes one key stronger than another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// What it may do.
    pub scopes: Scopes,
    /// From where.
    pub networks: AllowedNetworks,
    /// Until when, be it that it expires or that it was rolled; `None` is for ever.
    pub until: Option<DateTime<Utc>>,
}

/// How a grant goes beyond another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Excess {
    /// It allows what the other does not.
    #[error("An API key without the scope {0} cannot give it to another.")]
    Scope(Scope),
    /// It can be used from where the other cannot.
    #[error("An API key that is bound to networks cannot make one that can be used from elsewhere.")]
    Networks,
    /// It outlives the other.
    #[error("An API key that ends cannot make one that lives longer.")]
    Lifetime,
}

impl Grant {
    /// How this goes beyond `other`, if it does.
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

/// From anywhere and for ever.
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
