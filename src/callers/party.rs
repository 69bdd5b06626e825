//! Whose share of a company's requests something takes.

use crate::callers::Owner;
use crate::kernel::ids::{GatewayId, KeyId, OperatorId};
use crate::kernel::limit_key::LimitKey;

/// One of those who share what their company may use.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Party {
    /// All systems with one API key.
    Key(KeyId),
    /// A person in the console.
    Operator(OperatorId),
    /// Everybody in the portal for one owner, by whichever link.
    Visitors(Owner),
    /// Whoever calls back for one payment gateway without a key.
    Gateway(GatewayId),
}

impl LimitKey for Party {}
