//! The operator, as whoever signs in is known.

use chrono::{DateTime, Utc};
use serde::Serialize;

use crate::kernel::ids::{CompanyId, OperatorId};
use crate::operators::role::Role;

/// An operator who is neither deleted nor disabled, without the password.
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
    /// Since when an authenticator app is asked for.
    pub totp_enabled_at: Option<DateTime<Utc>>,
}
