//! Password reset: a customer who forgot the password, has none or wants another one sets a new password with a sign-in code. Every other
//! session ends with its push devices, and the links to identity providers are suspended: one whose provider vouches for the account's proven
//! address signs in again by itself, the others once the customer has linked them again. The answer lists what opens the account. The new
//! password of a customer with a second factor counts once that is right too: who reads the mailbox alone changes nothing.
//!
//! A token alone does not set a password. Nor does it verify another number or address for the account, to which a sign-in code could then be
//! sent: that takes a fresh session ([`contact_change`](crate::storefront::accounts::contact_change)).

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use futures::FutureExt;
use secrecy::SecretString;
use serde_json::Value;

use crate::kernel::database::{Connection, repeated};
use crate::kernel::ids::CustomerId;
use crate::kernel::json::JsonBody;
use crate::kernel::languages::AcceptedLanguages;
use crate::kernel::password_hashing::HashedPassword;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::storefront::access::CallingStore;
use crate::storefront::accounts::signed_in::{Opened, audited};
use crate::storefront::accounts::{ending, known_devices, new_password, review, social};
use crate::storefront::audit::{ClientInfo, Method, SignInAttempt};
use crate::storefront::challenges::ChallengeAnswer;
use crate::storefront::codes::{self, Submission, SubmittedCode, Target, VerifiedCode};
use crate::storefront::purpose::Purpose;
use crate::storefront::routes::{self, Body, Routes, body, describe};
use crate::storefront::state::Storefront;
use crate::storefront::{customers, guessing, passkeys, passwords};

pub fn routes() -> Routes<Storefront> {
    let doc = describe(
        "Set a new password with a verification code, end all other sessions and suspend the links to identity providers and the passkeys.",
        routes::login_with([("review", review::schema())]),
    );
    let doc = doc.taking_body(ResetRequest::schema()).restricting("password", passwords::length());
    let doc = doc.refusing(codes::CODE_REFUSALS).refusing(&[ProblemCode::AccountBanned, ProblemCode::Overloaded]);
    let doc = doc.refusing(&[ProblemCode::SecondFactorRequired]);
    Routes::none().post("/customers/reset-password", doc, reset)
}

body! {
    /// `POST customers/reset-password`
    #[derive(Debug)]
    struct ResetRequest {
        /// The identity that the code was requested for, or the phone number or email address that it was sent to.
        identity: String,
        /// The verification code: six digits.
        #[serde(default)]
        code: SubmittedCode,
        /// What the answer to the request for the code had as `request`.
        request: Option<SecretString>,
        /// The new password: 8 to 256 characters, not one of the most common passwords.
        password: SecretString,
    }
}

/// `POST customers/reset-password`: takes the code that `login-with-sms` sends. The code can be used once, here or at
/// `verify-code`.
async fn reset(
    State(storefront): State<Storefront>,
    CallingStore { store }: CallingStore,
    client: ClientInfo,
    answer: ChallengeAnswer,
    languages: AcceptedLanguages,
    JsonBody(request): JsonBody<ResetRequest>,
) -> Result<Json<Value>, Problem> {
    let attempt = SignInAttempt::new(&store, Method::PasswordReset, Some(&request.identity), client);
    let flow = async {
        storefront.challenges.admit(&store, answer, storefront.clock.now()).await?;
        set_password(&storefront, &attempt, &request).await
    };
    let signed_in = audited(&storefront, (&attempt, &languages), flow.boxed()).await?;
    let mut answer = signed_in.answer(&storefront.settings);
    answer["review"] = signed_in.review(&mut storefront.pool.acquire().await?).await?;
    Ok(Json(answer))
}

async fn set_password(storefront: &Storefront, attempt: &SignInAttempt<'_>, request: &ResetRequest) -> Result<Opened, Problem> {
    // Checked before the code: an unacceptable password must not cost a guess.
    let password = new_password::accept(storefront, attempt.store.id, &request.password).await?;
    let identity = attempt.identity.as_ref().ok_or(ProblemCode::CodeInvalid)?;
    let target = Target::Identities(vec![identity.key()]);
    // Before the code is checked: a full queue must not cost a guess.
    let client = attempt.client.client();
    let place = storefront.reserve_hashing(attempt.store.id, &client)?;
    let submission = Submission::of(&request.code, &client, attempt.store.key_id, request.request.as_ref());
    let verified_code = codes::check(storefront, attempt.store.id, Purpose::SignIn, target, submission).await?;
    let hash = place.hash(password).await;
    repeated(|| open_with_password(storefront, attempt, &verified_code, &hash)).await
}

async fn open_with_password(
    storefront: &Storefront,
    attempt: &SignInAttempt<'_>,
    verified_code: &VerifiedCode,
    hash: &HashedPassword,
) -> Result<Opened, Problem> {
    let now = storefront.clock.now();
    let mut tx = storefront.pool.begin().await?;
    let customer = verified_code.consume_for_account(&mut tx, now).await?;
    let id = customer.id;
    let opened = if storefront.asks_second_factor(&mut tx, attempt, id).await? {
        storefront.await_second_factor(&mut tx, attempt, &customer, Some(hash), now).await?
    } else {
        replace_password(&mut tx, id, hash, now).await?;
        storefront.sign_in(&mut tx, attempt, customer, now).await?.with(|signed_in| signed_in.has_new_password = true)
    };
    tx.commit().await?;
    storefront.caches.invalidate_customer(id);
    Ok(opened)
}

/// Gives an account the password that its customer has chosen with a code, and ends what was opened before. The caller has locked the account.
pub(super) async fn replace_password(
    conn: &mut Connection,
    id: CustomerId,
    hash: &HashedPassword,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    customers::reset_password(conn, id, hash).await?;
    ending::end_all(conn, id, now).await?;
    social::suspend_links(conn, id, now).await?;
    passkeys::suspend_passkeys(conn, id, now).await?;
    // Somebody else may have been in the account, on a device that would be known from then on.
    guessing::forget_clients(conn, id).await?;
    known_devices::forget_known_devices(conn, id).await?;
    codes::forget_open_codes(conn, id).await
}

/// Makes the password of an account useless, with all that was opened by it, so that the customer has to choose a new one with a code. For
/// an operator who cannot choose one. The caller has locked the account.
pub async fn withdraw_password(conn: &mut Connection, id: CustomerId, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    customers::remove_password(conn, id).await?;
    ending::end_all(conn, id, now).await?;
    social::suspend_links(conn, id, now).await?;
    passkeys::suspend_passkeys(conn, id, now).await?;
    guessing::forget_clients(conn, id).await?;
    known_devices::forget_known_devices(conn, id).await?;
    codes::forget_open_codes(conn, id).await
}
