//! The roles of operators in the console.

use std::str::FromStr;

use serde::Serialize;

use crate::callers::{Grant, Scope, Scopes};

/// The role of an operator in the console. Decisions, section 9.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, sqlx::Type)]
#[serde(rename_all = "snake_case")]
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
    /// Scopes only: no role is restricted in networks or time.
    pub fn grant(self) -> Grant {
        let scopes: &[Scope] = match self {
            Self::Owner | Self::Developer => &[Scope::Admin],
            Self::Support => &[Scope::Read, Scope::Write],
            Self::Viewer => &[Scope::Read],
        };
        Scopes::new(scopes.iter().copied()).into()
    }
}

/// The text names no role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the role must be owner, developer, support or viewer")]
pub struct InvalidRole;

impl FromStr for Role {
    type Err = InvalidRole;

    fn from_str(text: &str) -> Result<Self, InvalidRole> {
        match text {
            "owner" => Ok(Self::Owner),
            "developer" => Ok(Self::Developer),
            "support" => Ok(Self::Support),
            "viewer" => Ok(Self::Viewer),
            _ => Err(InvalidRole),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_allows_what_it_says() {
        let allowed = |role: Role| Scope::ALL.into_iter().filter(|scope| role.grant().scopes.allow(*scope)).collect::<Vec<_>>();
        assert_eq!(allowed(Role::Owner), Scope::ALL);
        assert_eq!(allowed(Role::Developer), Scope::ALL);
        assert_eq!(allowed(Role::Support), [Scope::Read, Scope::Write]);
        assert_eq!(allowed(Role::Viewer), [Scope::Read]);
    }
}
