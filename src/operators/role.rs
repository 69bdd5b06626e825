//! The roles of operators in the console.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::callers::{Grant, Reach, Scope};

/// The role of an operator in the console. Decisions, section 9.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, sqlx::Type)]
#[serde(try_from = "String", rename_all(serialize = "snake_case"))]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum Role {
    /// Everything.
    Owner,
    /// Endpoints, keys and secrets.
    Developer,
    /// Customers and deliveries, but no secrets.
    Support,
    /// Read-only access.
    Viewer,
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 4] = [Self::Owner, Self::Developer, Self::Support, Self::Viewer];
    /// Their names, in the same order.
    pub const NAMES: &'static [&'static str] = &["owner", "developer", "support", "viewer"];

    /// The name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Developer => "developer",
            Self::Support => "support",
            Self::Viewer => "viewer",
        }
    }

    /// Scopes only: no role is restricted in networks or time.
    pub fn grant(self) -> Grant {
        let (read, write, admin) = (Some(Scope::Read), Some(Scope::Write), Some(Scope::Admin));
        let reach = match self {
            Self::Owner => Reach::FULL,
            Self::Developer => Reach { customers: None, business: write, traffic: write, integration: admin, administration: None },
            Self::Support => Reach { customers: write, business: write, traffic: write, integration: read, administration: None },
            Self::Viewer => Reach { administration: None, ..Reach::up_to(Scope::Read) },
        };
        Grant { reach, ..Grant::everything() }
    }
}

/// The text names no role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("This must be owner, developer, support or viewer.")]
pub struct InvalidRole;

impl FromStr for Role {
    type Err = InvalidRole;

    fn from_str(text: &str) -> Result<Self, InvalidRole> {
        Self::ALL.into_iter().find(|role| role.as_str() == text).ok_or(InvalidRole)
    }
}

impl TryFrom<String> for Role {
    type Error = InvalidRole;

    fn try_from(text: String) -> Result<Self, InvalidRole> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::callers::Area;

    #[test]
    fn a_role_is_read_by_its_name() {
        assert_eq!(Role::ALL.map(Role::as_str), Role::NAMES);
        assert_eq!(Role::ALL.map(|role| role.as_str().parse()), Role::ALL.map(Ok));
        assert_eq!("admin".parse::<Role>(), Err(InvalidRole));
    }

    #[test]
    fn a_role_allows_what_it_says() {
        use Area::{Administration, Business, Customers, Integration, Traffic};
        let of = |role: Role, scope| Area::ALL.into_iter().filter(|area| role.grant().allows(*area, scope)).collect::<Vec<_>>();
        for (role, read, write, admin) in [
            (Role::Owner, Area::ALL.to_vec(), Area::ALL.to_vec(), Area::ALL.to_vec()),
            (Role::Developer, vec![Business, Traffic, Integration], vec![Business, Traffic, Integration], vec![Integration]),
            (Role::Support, vec![Customers, Business, Traffic, Integration], vec![Customers, Business, Traffic], vec![]),
            (Role::Viewer, vec![Customers, Business, Traffic, Integration], vec![], vec![]),
        ] {
            assert_eq!([of(role, Scope::Read), of(role, Scope::Write), of(role, Scope::Admin)], [read, write, admin], "{role:?}");
        }
        assert!(!Role::Support.grant().allows(Administration, Scope::Read));
    }
}
