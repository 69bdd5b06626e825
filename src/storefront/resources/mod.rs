//! What operators see and decide of the storefront (`storefront/int/v1`): stores and their limits, customers, sign-ins, texts.

mod customers;
mod sessions;
mod sign_ins;
mod stores;
mod texts;

use axum::Router;
use axum::extract::FromRef;
use axum::routing::{delete, get, post};
use sqlx::PgPool;

use crate::companies::Companies;
use crate::kernel::clock::Clock;
use crate::resources::{self, Room};
use crate::storefront::Storefront;

impl Room for Storefront {
    fn pool(&self) -> &PgPool {
        &self.pool
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Stores are all that is edited here: a deleted one is closed to its apps at once.
    fn forget_what_changed(&self) {
        self.recent.forget_everything();
    }
}

/// Everything below `/storefront/int/v1`.
pub fn routes<S>() -> Router<S>
where
    Storefront: FromRef<S>,
    Companies: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    Router::new()
        .merge(resources::routes::<stores::StoreRecord, S>())
        .merge(resources::read_only_routes::<customers::CustomerRecord, S>())
        .merge(resources::read_only_routes::<sessions::SessionRecord, S>())
        .merge(resources::read_only_routes::<texts::TextRecord, S>())
        .merge(resources::read_only_routes::<sign_ins::SignInRecord, S>())
        .route("/texts/conversion", get(texts::conversion))
        .route("/tokens/{uuid}", delete(sessions::revoke))
        .route("/customers/{uuid}/revoke-tokens", post(sessions::revoke_all))
}
