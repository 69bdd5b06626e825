//! What a visitor can do, from where and until when.

use chrono::{DateTime, Utc};

use crate::callers::{AllowedNetworks, Grant, Owner, Reach, Scope, Scopes};

/// What a subscriber does with webhooks, within one owner.
pub(super) fn grant(owner: Owner, networks: AllowedNetworks, until: DateTime<Utc>) -> Grant {
    let reach = Reach { customers: None, business: None, administration: None, ..Reach::up_to(Scope::Write) };
    Grant { reach, networks, owner: Some(owner), until: Some(until), ..Grant::from(Scopes::new([Scope::Read, Scope::Write])) }
}
