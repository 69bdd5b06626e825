//! How many refused sign-ins are recorded one by one. A flood of them would fill the audit: what is over the limit is counted only, in the
//! figures of its hour.

use chrono::{DateTime, TimeDelta, Utc};
use ipnet::IpNet;

use crate::contact::Identity;
use crate::kernel::ids::StoreId;
use crate::kernel::rate_limit::{LocalWindow, Rule};
use crate::storefront::audit::SignInAttempt;

/// Refused sign-ins of one network in one store, or of one identity, that one instance records.
const RECORDED: Rule = Rule { limit: 100, window: TimeDelta::hours(1) };

/// The refused sign-ins of the last hour. Counted in memory by each instance: nothing is kept of those that are not recorded.
#[derive(Clone, Debug)]
pub struct Refusals {
    by_network: LocalWindow<(StoreId, IpNet)>,
    by_identity: LocalWindow<(StoreId, String)>,
}

impl Refusals {
    pub fn new() -> Self {
        Self { by_network: LocalWindow::new(RECORDED), by_identity: LocalWindow::new(RECORDED) }
    }

    /// Whether the refusal of an attempt is recorded.
    pub fn is_recorded(&self, attempt: &SignInAttempt<'_>, now: DateTime<Utc>) -> bool {
        let store = attempt.store.id;
        let of_identity = |identity: &Identity| self.by_identity.hit((store, identity.key()), now);
        self.by_network.hit((store, attempt.client.address.network()), now) && attempt.identity.as_ref().is_none_or(of_identity)
    }

    pub fn sweep(&self, now: DateTime<Utc>) {
        self.by_network.sweep(now);
        self.by_identity.sweep(now);
    }
}
