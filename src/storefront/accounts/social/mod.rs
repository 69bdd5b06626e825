//! Sign-in with an identity provider (interface 1, `login-with-idp-a`, `-b`, `-c`; `docs/specification/decisions.md`, section 6).
//!
//! [`listed`] has the routes of the providers that the settings list or that companies have of their own, [`idp_c`] those of provider C. Which
//! provider a name stands for depends on the company of the store ([`crate::storefront::company_providers`]).
//!
//! [`crate::providers::identity`] verifies the identity. [`linking`] finds or opens the account. This module is the only writer
//! of `provider_links`: a row links a subject of a provider to an account of a store. The account is determined in this order:
//!
//! 1. A subject that is linked in this store opens the linked account, even if its address has changed since.
//! 2. Otherwise an address that the provider vouches for opens the account that has proven it. The subject is linked to that
//!    account.
//! 3. Otherwise a new account is opened. Its address is proven if the provider vouches for it, and unproven if not. If the store has a
//!    registration hook, that is asked before: what was done so far is rolled back, so that nothing waits for the answer, and done again.
//!
//! An address in the request body is always unproven: it opens no account and proves nothing.
//!
//! An identity token can be used once, in one store: stores of one company or of several can share the app that it is for, and whoever has seen it
//! used in one must not open another with it. `presented_identity_tokens` and `used_identity_tokens` store its digest until the token is too old.
//! For a minute, the client that used it may present it again ([`Use`](queries::Use)), also if its provider has exchanged the authorization code
//! already ([`repeats`]).
//!
//! Who takes an account back, with a new password or from a thief, cannot tell which links are theirs. They are suspended and not forgotten,
//! because a forgotten one would silently open a second account at its next sign-in. A suspended link signs nobody in, until the provider
//! vouches for the proven address, or the customer links it again in a fresh session ([`own_links`]).
//!
//! A customer with a second factor is asked for it. Such a sign-in neither links nor resumes anything: a first factor alone changes no account.
//!
//! Trouble at a provider is no wrong proof, so it is counted for nobody ([`trouble`]). The refresh token that comes with an
//! authorization code is revoked when the account is closed ([`grants`]).
//!
//! A link stays when its provider is no longer configured: it signs nobody in, the export of the customer shows it, and it works again when
//! the provider is listed under the same name.
//!
//! A deployment can rename the providers. A provider with the name `acme-id` is also available at `login-with-acme-id`, and the
//! field `acmeIdUserId` is accepted like the neutral one.

mod grants;
mod idp_c;
mod linking;
mod listed;
mod moved_in;
mod own_links;
mod queries;
mod repeats;
mod trouble;

use axum::Json;
use futures::FutureExt;
use serde_json::{Map, Value};

use crate::kernel::json;
use crate::kernel::languages::AcceptedLanguages;
use crate::kernel::openapi::OperationDoc;
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode, Sentence};
use crate::providers::RouteName;
use crate::providers::identity::{Flaw, Provider, VerifiedIdentity, VerifyError, user_id_member};
use crate::storefront::accounts::failed_proof;
use crate::storefront::accounts::signed_in::audited;
use crate::storefront::accounts::social::linking::{Typed, sign_in};
use crate::storefront::audit::SignInAttempt;
use crate::storefront::registration_hooks;
use crate::storefront::routes::{self, Routes, describe};
use crate::storefront::state::Storefront;

pub use grants::{SEALED, end_grants, forget_subjects, give_back_at_once, give_grants_back};
pub use moved_in::{insert_links, list_linked};
pub use own_links::{links_schema, show_links};
pub use queries::{Link, export_links, forget_links, list_links, suspend_links, sweep_presented_tokens, sweep_used_tokens};

/// The routes of every provider, under its neutral name and under its name in this deployment.
pub fn routes(storefront: &Storefront) -> Routes<Storefront> {
    let providers = &storefront.identity_providers;
    let routes = listed::mount_unlisted(providers.listed.iter().fold(Routes::none(), listed::mount));
    idp_c::mount(routes, &providers.idp_c.name).merge(own_links::routes())
}

/// The description of a sign-in with a body of this schema.
fn description(body: Value) -> OperationDoc {
    describe("Sign in with an identity provider. The first sign-in creates an account.", routes::login())
        .taking_body(body)
        .refusing(&[ProblemCode::ProviderNotConfigured, ProblemCode::IdentityNotVerified, ProblemCode::ProviderLinkSuspended])
        .refusing(&[ProblemCode::AccountBanned, ProblemCode::ProviderUnavailable, ProblemCode::Overloaded])
        .refusing(&[ProblemCode::GuessesExceeded, ProblemCode::SecondFactorRequired])
        .refusing(registration_hooks::REFUSALS)
}

fn path(name: &str) -> String {
    format!("/customers/login-with-{name}")
}

fn linking_path(name: &str) -> String {
    format!("/customers/link-{name}")
}

/// Signs in the person whom the provider identifies.
async fn finish(
    storefront: &Storefront,
    (attempt, languages): (&SignInAttempt<'_>, &AcceptedLanguages),
    (provider, verifying): (&Provider, impl Future<Output = Result<VerifiedIdentity, VerifyError>> + Send),
    typed: Typed,
) -> Result<Json<Value>, Problem> {
    let flow = async {
        let verified = trouble::verified(storefront, (attempt.store.company_id, provider), verifying).await;
        // Nobody guesses by sending nothing: what is not there is refused in the same words, and not counted.
        if let Err(missing @ VerifyError::NotVerified(Flaw::Incomplete)) = verified {
            return Err(Problem::from(missing));
        }
        let (store, client) = (attempt.store.id, attempt.client.client());
        let signing_in = async {
            let identity = repeats::or_repeated(storefront, (store, &client), verified).await?;
            sign_in(storefront, attempt, identity, typed).await
        };
        failed_proof::counted(storefront, (store, client), ProblemCode::IdentityNotVerified, signing_in.await).await
    };
    let signed_in = audited(storefront, (attempt, languages), flow.boxed()).await?;
    Ok(Json(signed_in.answer(&storefront.settings)))
}

/// Gives the provider's id of the person its neutral name. It may be sent under the deployment's name for the provider.
fn with_neutral_user_id(mut body: Map<String, Value>, name: &RouteName, neutral: &str) -> Result<Map<String, Value>, Problem> {
    if let Some(id) = body.remove(&user_id_member(&name.to_string())).filter(|id| !json::is_missing(id))
        && body.insert(neutral.to_owned(), id).is_some_and(|other| !json::is_missing(&other))
    {
        return Err(FieldErrors::one(neutral, Sentence::new("{} must not be sent under both of its names.").with(neutral)));
    }
    Ok(body)
}

impl From<VerifyError> for Problem {
    fn from(error: VerifyError) -> Self {
        match error {
            VerifyError::NotConfigured => ProblemCode::ProviderNotConfigured.into(),
            VerifyError::NotVerified(flaw) => {
                tracing::info!(%flaw, "a proof of identity was refused");
                ProblemCode::IdentityNotVerified.into()
            }
            VerifyError::CodeRefused(_) => VerifyError::from(Flaw::NotConfirmed).into(),
            VerifyError::Unavailable { seconds } | VerifyError::CredentialsRefused { seconds } => {
                Problem::new(ProblemCode::ProviderUnavailable).retry_after(seconds)
            }
        }
    }
}
