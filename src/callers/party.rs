//! Whose share of a company's requests something takes.

use crate::callers::Owner;
use crate::kernel::ids::{KeyId, OperatorId};
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
}

impl LimitKey for Party {}
