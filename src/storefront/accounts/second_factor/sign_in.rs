//! The second half of a sign-in: `login-with-totp` takes the handle that the first factor was answered with, and a code.

use axum::Json;
use axum::extract::State;
use futures::FutureExt;
use secrecy::SecretString;
use serde_json::{Value, json};

use crate::contact::Identity;
use crate::kernel::database::repeated;
use crate::kernel::json::JsonBody;
use crate::kernel::languages::AcceptedLanguages;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::storefront::access::CallingStore;
use crate::storefront::accounts::second_factor::proof::{Answer, Proven, REFUSALS, prove};
use crate::storefront::accounts::signed_in::{Opened, SignedIn, audited};
use crate::storefront::accounts::{password_reset, review};
use crate::storefront::audit::{ClientInfo, Method, SignInAttempt};
use crate::storefront::codes::SubmittedCode;
use crate::storefront::customers;
use crate::storefront::routes::{self, Body, Routes, body, describe};
use crate::storefront::second_factors::{self, Handle, PendingSignIn, Wait};
use crate::storefront::state::Storefront;
use crate::storefront::stores::Store;

pub(super) fn routes() -> Routes<Storefront> {
    // The review is there if a new password waited for the second factor.
    let mut answer = routes::login_with([("review", review::schema())]);
    answer["required"] = json!(["token", "customer"]);
    let doc = describe("Finish a sign-in that was answered with `second_factor_required`.", answer);
    let doc = doc.refusing(REFUSALS).refusing(&[ProblemCode::SecondFactorExpired, ProblemCode::AccountBanned]);
    let doc = doc.taking_body(SecondFactorRequest::schema()).needing_one_of(&["code", "recovery_code"]);
    Routes::none().post("/customers/login-with-totp", doc, login)
}

body! {
    /// `POST customers/login-with-totp`
    #[derive(Debug)]
    struct SecondFactorRequest {
        /// What the first factor was answered with: `second_factor` of the problem.
        second_factor: SecretString,
        /// The code of the app: six digits. Either this field or `recovery_code` is required.
        code: Option<SubmittedCode>,
        /// A recovery code, in groups or not.
        recovery_code: Option<SecretString>,
    }
}

/// `POST customers/login-with-totp`
async fn login(
    State(storefront): State<Storefront>,
    CallingStore { store }: CallingStore,
    client: ClientInfo,
    languages: AcceptedLanguages,
    JsonBody(request): JsonBody<SecondFactorRequest>,
) -> Result<Json<Value>, Problem> {
    let answer = Answer::read(request.code, request.recovery_code.as_ref())?;
    let handle = Handle::claimed(&request.second_factor);
    // To its end even if the client disconnects: a thief of a recovery code must not keep the owner from being told.
    let this = storefront.clone();
    let finishing = async move { finish(&this, (&*store, client), &languages, (handle, answer)).await };
    storefront.lifecycle.finish(finishing).await
}

async fn finish(
    storefront: &Storefront,
    (store, client): (&Store, ClientInfo),
    languages: &AcceptedLanguages,
    (handle, answer): (Handle, Answer),
) -> Result<Json<Value>, Problem> {
    let app = second_factors::app_of(store.key_id, client.user_agent.as_deref());
    let mut conn = storefront.pool.acquire().await?;
    let pending = second_factors::find_pending(&mut conn, (store.id, app), &handle, storefront.clock.now()).await?;
    drop(conn);
    let typed = pending.as_ref().and_then(|pending| pending.identity.as_deref());
    let attempt = SignInAttempt {
        identity: typed.and_then(|key| Identity::parse(key).ok()),
        ..SignInAttempt::new(store, answer.method(), None, client)
    };
    let flow = async {
        match pending {
            // The request has come twice. The handle is used up, whatever the code is.
            Some(PendingSignIn { is_consumed: true, .. }) => Err(finished()),
            Some(pending) => confirm(storefront, &attempt, pending, (&handle, answer)).await,
            // It is no guess: nobody comes upon a handle.
            None => Err(ProblemCode::SecondFactorExpired.into()),
        }
    };
    let signed_in = audited(storefront, (&attempt, languages), flow.boxed()).await?;
    let mut answer = signed_in.answer(&storefront.settings);
    if signed_in.has_new_password {
        answer["review"] = signed_in.review(&mut storefront.pool.acquire().await?).await?;
    }
    Ok(Json(answer))
}

async fn confirm(
    storefront: &Storefront,
    attempt: &SignInAttempt<'_>,
    pending: PendingSignIn,
    (handle, answer): (&Handle, Answer),
) -> Result<Opened, Problem> {
    let proven = prove(storefront, (attempt.store.id, attempt.client.client()), pending.customer, answer).await?;
    repeated(|| open_by_proof(storefront, attempt, (handle, &pending), &proven)).await
}

async fn open_by_proof(
    storefront: &Storefront,
    attempt: &SignInAttempt<'_>,
    (handle, pending): (&Handle, &PendingSignIn),
    proven: &Proven,
) -> Result<Opened, Problem> {
    let (id, now) = (pending.customer, proven.at());
    let mut tx = storefront.pool.begin().await?;
    let customer = customers::lock_customer(&mut tx, id).await?.ok_or(ProblemCode::SecondFactorExpired)?;
    match second_factors::consume_pending(&mut tx, handle, now).await? {
        Wait::Ended => {}
        Wait::EndedBefore => return Err(finished()),
        Wait::Gone => return Err(ProblemCode::SecondFactorExpired.into()),
    }
    proven.consume(&mut tx).await?;
    if let Some(hash) = &pending.new_password {
        password_reset::replace_password(&mut tx, id, hash, now).await?;
    }
    let tell = |signed_in: &mut SignedIn| {
        signed_in.has_new_password = pending.new_password.is_some();
        signed_in.used_recovery_code = attempt.method == Method::RecoveryCode;
    };
    let opened = storefront.sign_in(&mut tx, attempt, customer, now).await?.with(tell);
    tx.commit().await?;
    storefront.caches.invalidate_customer(id);
    Ok(opened)
}

/// The handle is used up, so that no other code helps.
fn finished() -> Problem {
    Problem::new(ProblemCode::CodeUsed).detail("This sign-in is finished already. Please sign in again from the beginning.")
}
