//! Permissions: all that something reaches, as a scope in each area.

use crate::callers::{Area, Scope};

/// All that something reaches. A caller needs each scope in its area, so nobody gets to customers by a kind of record that is counted among the webhooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permissions {
    own: (Area, Scope),
    beyond: &'static [(Area, Scope)],
}

impl Permissions {
    /// A scope in one area, and those `beyond` it.
    pub const fn new(area: Area, scope: Scope, beyond: &'static [(Area, Scope)]) -> Self {
        Self { own: (area, scope), beyond }
    }

    /// Each scope with its area; that of the records themselves comes first.
    pub fn iter(self) -> impl Iterator<Item = (Area, Scope)> {
        std::iter::once(self.own).chain(self.beyond())
    }

    /// Those beyond the area of the records themselves.
    pub fn beyond(self) -> impl Iterator<Item = (Area, Scope)> {
        self.beyond.iter().copied()
    }

    /// The scopes that an API key needs, which reaches equally far in all areas. `admin` allows what any other allows.
    pub fn scopes(self) -> Vec<Scope> {
        let mut scopes: Vec<_> = self.iter().map(|(_, scope)| scope).collect();
        if scopes.contains(&Scope::Admin) {
            return vec![Scope::Admin];
        }
        scopes.sort_unstable();
        scopes.dedup();
        scopes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_needs_each_scope_once_and_admin_alone_is_enough() {
        let scopes = |scope, beyond: &'static [(Area, Scope)]| Permissions::new(Area::Integration, scope, beyond).scopes();
        assert_eq!(scopes(Scope::Write, &[]), [Scope::Write]);
        assert_eq!(scopes(Scope::Write, &[(Area::Customers, Scope::Write)]), [Scope::Write]);
        assert_eq!(scopes(Scope::Write, &[(Area::Customers, Scope::Read)]), [Scope::Read, Scope::Write]);
        assert_eq!(scopes(Scope::Write, &[(Area::Customers, Scope::Admin)]), [Scope::Admin]);
    }
}
