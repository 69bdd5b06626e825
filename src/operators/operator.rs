//! The operator, as lists show it.

use chrono::{DateTime, Utc};
use serde::Serialize;

use crate::kernel::ids::{CompanyId, OperatorId};
use crate::operators::role::Role;

/// An operator, without the password.
#[derive(Clone, Debug, Serialize)]
pub struct Operator {
    /// The operator's id.
    pub id: OperatorId,
    /// The company that the operator works for.
    #[serde(skip)]
    pub company: CompanyId,
    /// The address the operator signs in with and is mailed at, in lower case.
    pub email: String,
    /// The role, which determines the operator's permissions.
    pub role: Role,
    /// When the operator was created.
    pub created_at: DateTime<Utc>,
}
