//! How far a role reaches in each area of a company's data.

use crate::callers::{Area, Scope};

/// The most powerful scope in each area; `None` for an area out of reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// In [`Area::Customers`].
    pub customers: Option<Scope>,
    /// In [`Area::Business`].
    pub business: Option<Scope>,
    /// In [`Area::Traffic`].
    pub traffic: Option<Scope>,
    /// In [`Area::Integration`].
    pub integration: Option<Scope>,
    /// In [`Area::Administration`].
    pub administration: Option<Scope>,
}

impl Reach {
    /// As far as the scopes say, everywhere.
    pub const FULL: Self = Self::up_to(Scope::Admin);

    /// The same in all areas.
    pub const fn up_to(scope: Scope) -> Self {
        let most = Some(scope);
        Self { customers: most, business: most, traffic: most, integration: most, administration: most }
    }

    /// Whether `scope` is within reach in `area`. Reporting a payment and publishing an event are changes like others.
    pub fn covers(&self, area: Area, scope: Scope) -> bool {
        let most = match area {
            Area::Customers => self.customers,
            Area::Business => self.business,
            Area::Traffic => self.traffic,
            Area::Integration => self.integration,
            Area::Administration => self.administration,
        };
        let needed = match scope {
            Scope::Callbacks | Scope::Events => Scope::Write,
            Scope::Read | Scope::Write | Scope::Admin => scope,
        };
        most.is_some_and(|most| needed <= most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_is_covered_up_to_the_most_powerful_one_of_its_area() {
        let reach = Reach { customers: None, traffic: Some(Scope::Read), ..Reach::FULL };
        for (area, scope, covered) in [
            (Area::Customers, Scope::Read, false),
            (Area::Traffic, Scope::Read, true),
            (Area::Traffic, Scope::Write, false),
            (Area::Traffic, Scope::Events, false),
            (Area::Integration, Scope::Admin, true),
        ] {
            assert_eq!(reach.covers(area, scope), covered, "{area:?} {scope}");
        }
        assert!(Area::ALL.into_iter().all(|area| Scope::ALL.into_iter().all(|scope| Reach::FULL.covers(area, scope))));
    }
}
