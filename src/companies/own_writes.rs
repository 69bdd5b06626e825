//! Whoever changes something reads it in the next list, also where lists are read from a standby.
//!
//! Only while [`Pool::replica`](crate::kernel::database::Pool::replica) is one: without it, nothing is noted.

use std::sync::{Arc, OnceLock};

use axum::extract::{Request, State};
use axum::http::header::CACHE_CONTROL;
use axum::http::{Extensions, HeaderMap};
use axum::middleware::Next;
use axum::response::Response;
use uuid::Uuid;

use crate::callers::Who;
use crate::kernel::database::Replica;

/// Whose request it is, once that is known.
#[derive(Clone, Debug)]
pub(super) struct Asking(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    replica: Replica,
    /// What is read has to be there now, as if the caller had written it.
    wants_all: bool,
    caller: OnceLock<Uuid>,
}

/// Middleware: notes when a caller has written. `Cache-Control: no-cache` asks for what others have written up to now as well.
pub async fn note_writes(State(replica): State<Replica>, mut request: Request, next: Next) -> Response {
    let writes = !request.method().is_safe();
    let wants_all = wants_all(request.headers());
    if !writes && !wants_all {
        return next.run(request).await;
    }
    let asking = Asking(Arc::new(Inner { replica, wants_all, caller: OnceLock::new() }));
    request.extensions_mut().insert(asking.clone());
    let response = next.run(request).await;
    if writes {
        asking.note_write();
    }
    response
}

/// Whether the request refuses answers that are older than it (RFC 9111, 5.2.1.4).
fn wants_all(headers: &HeaderMap) -> bool {
    let values = headers.get_all(CACHE_CONTROL).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|directive| directive.trim().eq_ignore_ascii_case("no-cache"))
}

impl Asking {
    /// The request with these extensions is this caller's.
    pub(super) fn note(request: &Extensions, who: Who) {
        let (Some(asking), Some(id)) = (request.get::<Self>(), who.id()) else { return };
        // A request has one caller.
        let _ = asking.0.caller.set(id);
        if asking.0.wants_all {
            asking.note_write();
        }
    }

    fn note_write(&self) {
        if let Some(caller) = self.0.caller.get() {
            self.0.replica.note_write(*caller);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_can_ask_for_what_is_there_now() {
        let wants = |values: &[&'static str]| wants_all(&values.iter().map(|value| (CACHE_CONTROL, value.parse().unwrap())).collect());
        assert!(wants(&["no-cache"]) && wants(&["max-age=0, No-Cache"]) && wants(&["no-transform", "no-cache"]));
        assert!(!wants(&[]) && !wants(&["max-age=0"]) && !wants(&["no-cache-please"]));
    }
}
