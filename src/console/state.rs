//! What pages need.

use std::sync::Arc;

use axum::extract::FromRef;

use crate::console::Api;
use crate::console::kinds::Kinds;
use crate::kernel::clock::Clock;
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
}

impl Console {
    /// The console for the API `api` with these kinds of records. `secure` says whether browsers reach it over TLS.
    pub fn new(api: Api, kinds: Vec<KindDoc>, operators: Operators, clock: Clock, secure: bool) -> Self {
        Self { api, kinds: Arc::new(Kinds::new(kinds)), operators, clock, secure }
    }
}

impl FromRef<Console> for Operators {
    fn from_ref(console: &Console) -> Self {
        console.operators.clone()
    }
}
