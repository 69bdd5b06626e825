//! The API for operators (`storefront/int/v1`): stores with their limits, customers, sessions, sign-ins and
//! texts.

mod customers;
mod sessions;
mod sign_ins;
mod stores;
mod texts;

use axum::extract::FromRef;
use axum::http::Method;
use sqlx::PgPool;

use crate::companies::Companies;
use crate::kernel::clock::Clock;
use crate::resources::{Extension, Room};
use crate::storefront::Storefront;

impl Room for Storefront {
    fn pool(&self) -> &PgPool {
        &self.pool
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Stores are the only resource that can be edited here. Clearing the cache makes a deletion effective at once.
    fn forget_what_changed(&self) {
        self.recent.forget_everything();
    }
}

/// The routes below `/storefront/int/v1`.
pub fn extension<S>() -> Extension<S>
where
    Storefront: FromRef<S>,
    Companies: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    Extension::new("storefront")
        .editable::<stores::StoreRecord>()
        .read_only::<customers::CustomerRecord>()
        .beside(Method::POST, "/customers/{uuid}/revoke-tokens", "End all sessions of a customer.", sessions::revoke_all)
        .read_only::<sessions::SessionRecord>()
        .beside(Method::DELETE, "/tokens/{uuid}", "End a session of a customer.", sessions::revoke)
        .read_only::<texts::TextRecord>()
        .beside(
            Method::GET,
            "/texts/conversion",
            "Show how many texted codes were used in the last 24 hours, by country and number range.",
            texts::conversion,
        )
        .read_only::<sign_ins::SignInRecord>()
}
