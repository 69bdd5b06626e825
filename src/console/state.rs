//! What pages need.

use std::sync::Arc;

use axum::extract::FromRef;
use tokio::sync::Semaphore;

use crate::console::Api;
use crate::console::kinds::Kinds;
use crate::kernel::clock::Clock;
use crate::kernel::lifecycle::Lifecycle;
use crate::operators::Operators;
use crate::resources::KindDoc;

/// The console of one database.
#[derive(Clone)]
pub struct Console {
    pub(super) api: Api,
    pub(super) kinds: Arc<Kinds>,
    pub(super) operators: Operators,
    pub(super) clock: Clock,
    /// Whether cookies are sent over TLS alone.
    pub(super) secure: bool,
    pub(super) lifecycle: Lifecycle,
    /// Places for pages that are followed while they change.
    pub(super) live_pages: Arc<Semaphore>,
}

/// The number of pages that may be followed at once. Each is made again every second.
const LIVE_PAGES: usize = 256;

impl Console {
    /// The console for the API `api` with these kinds of records. `secure` says whether browsers reach it over TLS.
    pub fn new(api: Api, kinds: Vec<KindDoc>, operators: Operators, clock: Clock, lifecycle: Lifecycle, secure: bool) -> Self {
        let live_pages = Arc::new(Semaphore::new(LIVE_PAGES));
        Self { api, kinds: Arc::new(Kinds::new(kinds)), operators, clock, secure, lifecycle, live_pages }
    }
}

impl FromRef<Console> for Operators {
    fn from_ref(console: &Console) -> Self {
        console.operators.clone()
    }
}
