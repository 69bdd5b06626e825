//! Grants: the scopes, allowed networks and expiry of a caller, and the comparison of two grants.

use chrono::{DateTime, Utc};

use crate::callers::{AllowedNetworks, Area, Owner, Permissions, Reach, Scope, Scopes};
use crate::kernel::problem::{Problem, ProblemCode};

/// Everything that can make one caller more powerful than another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The scopes; [`Scope::Admin`] allows what any other allows.
    pub scopes: Scopes,
    /// How far the scopes reach in each area.
    pub reach: Reach,
    /// The networks that an API key or a portal link may be used from.
    pub networks: AllowedNetworks,
    /// The one of the company's own customers whose records alone are reached; `None` for all records.
    pub owner: Option<Owner>,
    /// When the access ends: an API key that expires or was rotated, a session of the portal; `None` for never.
    pub until: Option<DateTime<Utc>>,
    /// Whether an operator has to prove again who they are before [`Scope::Admin`] counts, because the last proof was too long ago.
    pub needs_proof: bool,
}

/// How one grant exceeds another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Escalation {
    /// It has a scope that the other lacks.
    #[error("An API key without the scope {0} cannot give it.")]
    Scope(Scope),
    /// It reaches what the other does not.
    #[error("A key with the scope {0} reaches {name}, which this operator does not.", name = .1.name())]
    Reach(Scope, Area),
    /// It reaches records of others than the one owner that the other is restricted to.
    #[error("Who is restricted to one owner gives nobody access to more.")]
    Owner,
    /// It can be used from networks that the other cannot.
    #[error("An API key that is restricted to networks cannot give access from other networks.")]
    Networks,
    /// It ends later than the other.
    #[error("An API key that expires cannot give access that lasts longer than itself.")]
    Lifetime,
}

impl Grant {
    /// All scopes, from anywhere, without end.
    pub fn everything() -> Self {
        Scopes::all().into()
    }

    /// Whether the grant contains `scope` in `area`.
    pub fn allows(&self, area: Area, scope: Scope) -> bool {
        self.scopes.allow(scope) && self.reach.covers(area, scope)
    }

    /// Whether the grant contains all of `permissions`.
    pub fn allows_all(&self, permissions: Permissions) -> bool {
        permissions.iter().all(|(area, scope)| self.allows(area, scope))
    }

    /// Whether what an event says about `area` is shown. A caller who is restricted to one owner finds only events for this owner, and sees
    /// all of them, whatever they are about.
    pub fn sees_events_about(&self, area: Area) -> bool {
        self.owner.is_some() || self.allows(area, Scope::Read)
    }

    /// How this grant exceeds `other`, if it does.
    pub fn escalation_over(&self, other: &Self) -> Option<Escalation> {
        let outlives = other.until.is_some_and(|end| self.until.is_none_or(|until| until > end));
        let beyond = |scope: &Scope, area: &Area| self.allows(*area, *scope) && !other.reach.covers(*area, *scope);
        let mut everywhere = self.scopes.iter().flat_map(|scope| scope.areas().iter().map(move |area| (scope, *area)));
        if let Some(scope) = self.scopes.first_not_in(&other.scopes) {
            return Some(Escalation::Scope(scope));
        }
        match everywhere.find(|(scope, area)| beyond(scope, area)) {
            Some((scope, area)) => Some(Escalation::Reach(scope, area)),
            None if other.owner.is_some() && self.owner != other.owner => Some(Escalation::Owner),
            None if !self.networks.are_within(&other.networks) => Some(Escalation::Networks),
            None if outlives => Some(Escalation::Lifetime),
            None => None,
        }
    }
}

impl From<Escalation> for Problem {
    fn from(escalation: Escalation) -> Self {
        Self::new(ProblemCode::ApiKeyTooStrong).detail(escalation.to_string())
    }
}

/// These scopes, without restriction of areas, networks or time.
impl From<Scopes> for Grant {
    fn from(scopes: Scopes) -> Self {
        Self { scopes, reach: Reach::FULL, networks: AllowedNetworks::default(), owner: None, until: None, needs_proof: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(scopes: &[Scope], networks: &[&str], until: Option<i64>) -> Grant {
        let networks: Vec<String> = networks.iter().map(|text| (*text).to_owned()).collect();
        let until = until.map(|second| DateTime::from_timestamp(second, 0).unwrap());
        let scopes = Scopes::new(scopes.iter().copied());
        Grant { networks: networks.try_into().unwrap(), until, ..Grant::from(scopes) }
    }

    #[test]
    fn a_grant_is_beyond_another_by_scope_network_or_lifetime() {
        let office = grant(&[Scope::Read, Scope::Write], &["203.0.113.0/24"], Some(100));
        let escalation_over = |scopes: &[Scope], networks: &[&str], until| grant(scopes, networks, until).escalation_over(&office);
        assert_eq!(escalation_over(&[Scope::Read], &["203.0.113.9"], Some(100)), None);
        assert_eq!(escalation_over(&[Scope::Read, Scope::Admin], &["203.0.113.9"], Some(9)), Some(Escalation::Scope(Scope::Admin)));
        assert_eq!(escalation_over(&[Scope::Read], &[], Some(9)), Some(Escalation::Networks));
        assert_eq!(escalation_over(&[Scope::Read], &["203.0.113.9"], None), Some(Escalation::Lifetime));
        assert_eq!(escalation_over(&[Scope::Read], &["203.0.113.9"], Some(101)), Some(Escalation::Lifetime));
        let anything = grant(&[Scope::Admin], &[], None);
        assert_eq!(office.escalation_over(&anything), None);
        assert_eq!(anything.escalation_over(&anything), None);
    }

    #[test]
    fn who_is_restricted_to_one_owner_gives_no_access_to_others() {
        let of = |owner: &str| Grant { owner: Some(owner.to_owned().try_into().unwrap()), ..Grant::everything() };
        assert_eq!(Grant::everything().escalation_over(&of("7")), Some(Escalation::Owner));
        assert_eq!(of("8").escalation_over(&of("7")), Some(Escalation::Owner));
        assert_eq!(of("7").escalation_over(&of("7")), None);
        assert_eq!(of("7").escalation_over(&Grant::everything()), None);
    }

    #[test]
    fn a_grant_allows_what_it_covers_in_every_area() {
        let developer = Grant { reach: Reach { customers: None, ..Reach::FULL }, ..Grant::everything() };
        let hook = Permissions::new(Area::Integration, Scope::Write, &[(Area::Customers, Scope::Read)]);
        assert!(developer.allows_all(Permissions::new(Area::Integration, Scope::Admin, &[])));
        assert!(!developer.allows_all(hook));
        assert!(Grant::everything().allows_all(hook));
        assert!(!Grant::from(Scopes::new([Scope::Write])).allows_all(hook));
    }

    #[test]
    fn who_does_not_reach_an_area_sees_no_event_about_it_and_an_owner_sees_its_own() {
        let developer = Grant { reach: Reach { customers: None, ..Reach::FULL }, ..Grant::everything() };
        assert!(developer.sees_events_about(Area::Business) && !developer.sees_events_about(Area::Customers));
        let owner = Some("7".to_owned().try_into().unwrap());
        assert!(Grant { owner, ..developer }.sees_events_about(Area::Customers));
    }

    #[test]
    fn who_does_not_reach_an_area_gives_no_key_that_does() {
        let key = |scope| Grant::from(Scopes::new([scope]));
        let without_customers = Grant { reach: Reach { customers: None, ..Reach::FULL }, ..Grant::everything() };
        for (scope, escalation) in [
            (Scope::Events, None),
            (Scope::Callbacks, None),
            (Scope::Read, Some(Escalation::Reach(Scope::Read, Area::Customers))),
            (Scope::Admin, Some(Escalation::Reach(Scope::Admin, Area::Customers))),
        ] {
            assert_eq!(key(scope).escalation_over(&without_customers), escalation, "{scope}");
            assert_eq!(key(scope).escalation_over(&Grant::everything()), None, "{scope}");
        }
    }
}
