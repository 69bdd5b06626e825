//! The API for operators (`storefront/int/v1`): stores with their limits, customers, sessions, sign-ins and
//! texts.

mod customers;
mod figures;
mod identity_providers;
mod introspection;
mod logged_values;
mod message_providers;
mod message_wordings;
mod passkey_fields;
mod registration_hooks;
mod sessions;
mod sign_ins;
mod stores;
mod test_identities;
mod text_pauses;
mod texts;

use axum::extract::FromRef;
use axum::http::Method;

use crate::companies::Companies;
use crate::kernel::clock::Clock;
use crate::kernel::database::Pool;
use crate::resources::{Extension, ResourceState};
use crate::storefront::company_providers::CompanyProviders;
use crate::storefront::company_wordings::CompanyWordings;
use crate::storefront::message_providers::MessageProviders;
use crate::storefront::registration_hooks::RegistrationHooks;
use crate::storefront::state::Storefront;

pub use customers::LARGER_BODY;
pub use identity_providers::IdentityProviderRecord;
pub use message_providers::MessageProviderRecord;
pub use message_wordings::MessageWordingRecord;
pub use registration_hooks::RegistrationHookRecord;
pub use stores::{StoreBody, StoreRecord, Stores};
pub use test_identities::TestIdentityRecord;

impl ResourceState for Storefront {
    fn pool(&self) -> &Pool {
        &self.pool
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }
}

/// The routes below `/storefront/int/v1`.
pub fn extension<S>() -> Extension<S>
where
    Storefront: FromRef<S>,
    Stores: FromRef<S>,
    CompanyProviders: FromRef<S>,
    RegistrationHooks: FromRef<S>,
    MessageProviders: FromRef<S>,
    CompanyWordings: FromRef<S>,
    Companies: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    Extension::new("storefront")
        .editable::<StoreRecord>()
        .editable::<TestIdentityRecord>()
        .editable::<IdentityProviderRecord>()
        .route(Method::POST, "/identity-providers/{uuid}/test", identity_providers::test::doc(), identity_providers::test::test)
        .editable::<RegistrationHookRecord>()
        .route(Method::POST, "/registration-hooks/{uuid}/test", registration_hooks::acts::test_doc(), registration_hooks::acts::test)
        .route(
            Method::POST,
            "/registration-hooks/{uuid}/rotate-secret",
            registration_hooks::acts::rotate_secret_doc(),
            registration_hooks::acts::rotate_secret,
        )
        .editable::<MessageProviderRecord>()
        .route(Method::POST, "/message-providers/{uuid}/test", message_providers::test::doc(), message_providers::test::test)
        .editable::<MessageWordingRecord>()
        .merge(customers::extension())
        .route(Method::POST, "/customers/{uuid}/revoke-tokens", sessions::revoke_all_doc(), sessions::revoke_all)
        .read_only::<sessions::SessionRecord>()
        .route(Method::POST, "/tokens/introspect", introspection::doc(), introspection::introspect)
        .route(Method::DELETE, "/tokens/{uuid}", sessions::revoke_doc(), sessions::revoke)
        .read_only::<texts::TextRecord>()
        .route(Method::GET, "/texts/conversion", texts::conversion_doc(), texts::conversion)
        .route(Method::GET, "/texts/pauses", text_pauses::list_doc(), text_pauses::list)
        .route(Method::POST, "/texts/pauses/{uuid}/resume", text_pauses::resume_doc(), text_pauses::resume)
        .read_only::<sign_ins::SignInRecord>()
        .route(Method::GET, "/figures", figures::doc(), figures::show)
}
