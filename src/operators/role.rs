//! The roles of operators in the console.

use std::str::FromStr;

use serde::Serialize;

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
