//! What pages need.

use std::sync::Arc;

use axum::extract::FromRef;

use crate::console::Api;
use crate::console::addresses::{HOME, PORTAL};
use crate::console::followed::FollowedPages;
use crate::console::kinds::Kinds;
use crate::handbook::Handbook;
use crate::kernel::clock::Clock;
use crate::kernel::lifecycle::Lifecycle;
use crate::operators::Operators;
use crate::portal::Portal;
use crate::resources::KindDoc;

/// The console of one database.
#[derive(Clone)]
pub struct Console {
    pub(super) api: Api,
    pub(super) kinds: Arc<Kinds>,
    pub(super) handbook: Handbook,
    pub(super) operators: Operators,
    pub(super) portal: Portal,
    pub(super) clock: Clock,
    /// Whether cookies are sent over TLS alone.
    pub(super) secure: bool,
    /// The first of its pages: the pages of webhooks, events and records are those of operators, or those of subscribers in the portal.
    pub(super) home: &'static str,
    pub(super) lifecycle: Lifecycle,
    /// The pages that are followed while they change.
    pub(super) followed_pages: FollowedPages,
    /// Whether texts and mails go to a mailbox that can be looked at.
    pub(super) has_mailbox: bool,
}

/// The number of pages that may be followed at once. Each is made again every second, once for all of a party who look at it.
const LIVE_PAGES: usize = 256;
/// The same in the portal.
const LIVE_PAGES_OF_PORTAL: usize = 128;

/// What the console is made of.
pub struct Parts {
    /// The API in this process; in development, with the mailbox.
    pub api: Api,
    /// The kinds of records that pages are drawn for.
    pub kinds: Vec<KindDoc>,
    /// What the documentation pages say.
    pub handbook: Handbook,
    /// Who signs in.
    pub operators: Operators,
    /// The links that let the company's own customers in.
    pub portal: Portal,
    /// The time.
    pub clock: Clock,
    /// Ends pages that are followed.
    pub lifecycle: Lifecycle,
    /// Whether browsers reach the console over TLS, and there is no mailbox.
    pub production: bool,
}

impl Console {
    /// The console of one database.
    pub fn new(parts: Parts) -> Self {
        let Parts { api, kinds, handbook, operators, portal, clock, lifecycle, production } = parts;
        Self {
            api,
            kinds: Arc::new(Kinds::new(kinds)),
            handbook,
            operators,
            portal,
            clock,
            secure: production,
            home: HOME,
            has_mailbox: !production,
            lifecycle,
            followed_pages: FollowedPages::new(LIVE_PAGES),
        }
    }

    /// The same for the pages of the portal: its visitors have other sessions, know the kinds with owners alone, and take no place of an
    /// operator.
    pub(super) fn of_portal(&self) -> Self {
        let followed_pages = FollowedPages::new(LIVE_PAGES_OF_PORTAL);
        Self { kinds: Arc::new(self.kinds.within_owner()), home: PORTAL, followed_pages, ..self.clone() }
    }

    /// Whether its pages are those of the portal.
    pub(super) fn is_portal(&self) -> bool {
        self.home == PORTAL
    }
}

impl FromRef<Console> for Operators {
    fn from_ref(console: &Console) -> Self {
        console.operators.clone()
    }
}
