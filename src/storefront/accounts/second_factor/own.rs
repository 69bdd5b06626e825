//! The second factor in the hands of its customer. What changes it takes a fresh session, and once there is one, the factor itself too.

use axum::Json;
use axum::extract::State;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use crate::kernel::crypto::TotpSecret;
use crate::kernel::database::{Connection, repeated};
use crate::kernel::json::JsonBody;
use crate::kernel::languages::AcceptedLanguages;
use crate::kernel::openapi::object;
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode, Sentence};
use crate::storefront::access::{FreshCustomer, SignedInCustomer};
use crate::storefront::accounts::code_body::CodeBody;
use crate::storefront::accounts::ending;
use crate::storefront::accounts::second_factor::proof::{Answer, REFUSALS, prove};
use crate::storefront::audit::ClientInfo;
use crate::storefront::codes::SubmittedCode;
use crate::storefront::guessing;
use crate::storefront::messages::{Notice, Particulars};
use crate::storefront::routes::{self, Body, Routes, body, describe};
use crate::storefront::second_factors::{self, RECOVERY_CODES, RecoveryCode};
use crate::storefront::sending::notices::{self, Occurrence};
use crate::storefront::state::Storefront;

pub(super) fn routes() -> Routes<Storefront> {
    let text = || json!({ "type": "string" });
    let offered = object([("secret", text()), ("uri", text())]);
    let offering =
        describe("Get a secret for an authenticator app. It asks for nothing until a code has proven that the app has it.", offered);
    let offering = offering.refusing(&[ProblemCode::SecondFactorNotOffered, ProblemCode::SecondFactorEnabled]);
    let codes = json!({ "type": "array", "items": text(), "description": "Each works once. They are not shown again." });
    let enabled = || object([("second_factor", second_factors::schema()), ("recovery_codes", codes.clone())]);
    let enabling = describe("Ask for codes of the app from now on, with its first code.", enabled());
    let enabling = enabling.refusing(&[ProblemCode::CodeInvalid, ProblemCode::CodeUsed, ProblemCode::SecondFactorEnabled]);
    let showing = describe(
        "Show the second factor.",
        object([("second_factor", second_factors::schema()), ("offered", json!({ "type": "boolean" }))]),
    );
    let with_proof = |sentence, answer| {
        let doc = describe(sentence, answer).refusing(REFUSALS);
        doc.taking_body(ProofBody::schema()).needing_one_of(&["code", "recovery_code"])
    };
    let renewing = with_proof("Replace the recovery codes.", enabled());
    let removing = with_proof("Remove the second factor and its recovery codes.", routes::done());
    Routes::none()
        .get("/customers/totp", showing, show)
        .post("/customers/totp/request", offering, offer)
        .post("/customers/totp", enabling, enable)
        .post("/customers/totp/recovery-codes", renewing, renew)
        .post("/customers/totp/remove", removing, remove)
}

/// `GET customers/totp`
async fn show(State(storefront): State<Storefront>, caller: SignedInCustomer) -> Result<Json<Value>, Problem> {
    let second_factor = second_factors::show(&mut storefront.pool.acquire().await?, caller.customer.id).await?;
    Ok(Json(json!({ "second_factor": second_factor, "offered": caller.store.offers_second_factor })))
}

/// `POST customers/totp/request`: a further secret takes the place of one that waits.
async fn offer(State(storefront): State<Storefront>, FreshCustomer(caller): FreshCustomer) -> Result<Json<Value>, Problem> {
    if !caller.store.offers_second_factor {
        return Err(ProblemCode::SecondFactorNotOffered.into());
    }
    let (id, secret) = (caller.customer.id, TotpSecret::generate());
    let sealed = second_factors::seal(&secret, &storefront.application_key, id);
    let customer = repeated(async || {
        let mut tx = storefront.pool.begin().await?;
        let customer = caller.lock(&mut tx).await?;
        if !second_factors::offer_secret(&mut tx, (caller.store.id, id), &sealed, storefront.clock.now()).await? {
            return Err(Problem::from(ProblemCode::SecondFactorEnabled));
        }
        tx.commit().await?;
        Ok(customer)
    })
    .await?;
    let account = customer.email.or(customer.phone).unwrap_or_else(|| id.to_string());
    let uri = secret.address(&caller.store.name, &account);
    Ok(Json(json!({ "secret": secret.base32().expose_secret(), "uri": uri.expose_secret() })))
}

/// `POST customers/totp`
async fn enable(
    State(storefront): State<Storefront>,
    FreshCustomer(caller): FreshCustomer,
    languages: AcceptedLanguages,
    JsonBody(request): JsonBody<CodeBody>,
) -> Result<Json<Value>, Problem> {
    let digits = match request.code {
        SubmittedCode::Missing => return Err(FieldErrors::one("code", Sentence::new("{} is required.").with("code"))),
        SubmittedCode::Unusable => return Err(ProblemCode::CodeInvalid.into()),
        SubmittedCode::Digits(digits) => digits,
    };
    // To its end even if the client disconnects: a thief must not keep the owner from being told.
    let this = storefront.clone();
    let enabling = async move {
        let answer = repeated(|| switch_on(&this, &caller, &digits)).await?;
        tell(&this, &caller, &languages, Notice::SecondFactorOn).await;
        Ok(answer)
    };
    storefront.lifecycle.finish(enabling).await
}

/// Nobody guesses here: whoever is shown the secret has all its codes.
async fn switch_on(storefront: &Storefront, caller: &SignedInCustomer, digits: &SecretString) -> Result<Json<Value>, Problem> {
    let (id, now) = (caller.customer.id, storefront.clock.now());
    let mut tx = storefront.pool.begin().await?;
    caller.lock(&mut tx).await?;
    let Some(sealed) = second_factors::find_offered_secret(&mut tx, id, now).await? else {
        return Err(refuse_again(storefront, &mut tx, caller, digits).await?);
    };
    let secret = second_factors::open(&storefront.application_key, id, &sealed).map_err(|_| ProblemCode::CodeInvalid)?;
    let step = secret.step_of(digits.expose_secret(), now).ok_or(ProblemCode::CodeInvalid)?;
    if !second_factors::enable(&mut tx, id, &sealed, step, now).await? {
        return Err(ProblemCode::CodeInvalid.into());
    }
    let answer = replace_codes(&mut tx, caller).await?;
    // Nobody else goes on who came in by the first factor alone.
    ending::end_others(&mut tx, id, caller.session, now).await?;
    guessing::forget_clients(&mut tx, id).await?;
    tx.commit().await?;
    storefront.caches.invalidate_customer(id);
    Ok(answer)
}

/// What a first code is told for which no secret waits. The one that has switched the factor on was used: the request has come twice.
async fn refuse_again(
    storefront: &Storefront,
    conn: &mut Connection,
    caller: &SignedInCustomer,
    digits: &SecretString,
) -> Result<Problem, sqlx::Error> {
    let (id, now) = (caller.customer.id, storefront.clock.now());
    let Some((sealed, last_step)) = second_factors::find_enabled_secret(conn, id).await? else {
        return Ok(ProblemCode::CodeInvalid.into());
    };
    let secret = second_factors::open(&storefront.application_key, id, &sealed).ok();
    let step = secret.and_then(|secret| secret.step_of(digits.expose_secret(), now));
    // Only of a code that is good for nothing any more: nobody learns here which one is right.
    let is_used = step.is_some_and(|step| step <= last_step);
    Ok(if is_used { ProblemCode::CodeUsed } else { ProblemCode::SecondFactorEnabled }.into())
}

body! {
    /// `POST customers/totp/recovery-codes` and `POST customers/totp/remove`
    #[derive(Debug)]
    struct ProofBody {
        /// The code of the app: six digits. Either this field or `recovery_code` is required.
        code: Option<SubmittedCode>,
        /// A recovery code, in groups or not.
        recovery_code: Option<SecretString>,
    }
}

impl ProofBody {
    fn answer(self) -> Result<Answer, Problem> {
        Answer::read(self.code, self.recovery_code.as_ref())
    }
}

/// `POST customers/totp/recovery-codes`
async fn renew(
    State(storefront): State<Storefront>,
    FreshCustomer(caller): FreshCustomer,
    client: ClientInfo,
    languages: AcceptedLanguages,
    JsonBody(request): JsonBody<ProofBody>,
) -> Result<Json<Value>, Problem> {
    let proven = prove(&storefront, (caller.store.id, client.client()), caller.customer.id, request.answer()?).await?;
    let this = storefront.clone();
    let renewing = async move {
        let answer = repeated(async || {
            let mut tx = proven.begin(&this, &caller).await?;
            let answer = replace_codes(&mut tx, &caller).await?;
            tx.commit().await?;
            Ok::<_, Problem>(answer)
        })
        .await?;
        tell(&this, &caller, &languages, Notice::RecoveryCodesReplaced).await;
        Ok(answer)
    };
    storefront.lifecycle.finish(renewing).await
}

/// Gives the customer new recovery codes, and answers with them.
async fn replace_codes(conn: &mut Connection, caller: &SignedInCustomer) -> Result<Json<Value>, Problem> {
    let id = caller.customer.id;
    let codes: Vec<_> = (0..RECOVERY_CODES).map(|_| RecoveryCode::generate()).collect();
    let digests: Vec<_> = codes.iter().map(|code| code.digest(id)).collect();
    second_factors::replace_recovery_codes(conn, (caller.store.id, id), &digests).await?;
    let shown: Vec<_> = codes.iter().map(RecoveryCode::shown).collect();
    Ok(Json(json!({ "second_factor": second_factors::show(conn, id).await?, "recovery_codes": shown })))
}

/// `POST customers/totp/remove`: of a customer who has none, it is removed already. The request may have come twice.
async fn remove(
    State(storefront): State<Storefront>,
    FreshCustomer(caller): FreshCustomer,
    client: ClientInfo,
    languages: AcceptedLanguages,
    JsonBody(request): JsonBody<ProofBody>,
) -> Result<Json<Value>, Problem> {
    let answer = request.answer()?;
    let may_be_again = answer.is_possible();
    let proven = match prove(&storefront, (caller.store.id, client.client()), caller.customer.id, answer).await {
        Ok(proven) => proven,
        Err(refused) => {
            let has_one = second_factors::has_second_factor(&mut storefront.pool.acquire().await?, caller.customer.id).await?;
            return if may_be_again && !has_one { Ok(Json(json!({ "status": "ok" }))) } else { Err(refused) };
        }
    };
    let this = storefront.clone();
    let removing = async move {
        repeated(async || {
            let mut tx = proven.begin(&this, &caller).await?;
            second_factors::forget(&mut tx, caller.customer.id).await?;
            Ok::<_, Problem>(tx.commit().await?)
        })
        .await?;
        tell(&this, &caller, &languages, Notice::SecondFactorOff).await;
        Ok(Json(json!({ "status": "ok" })))
    };
    storefront.lifecycle.finish(removing).await
}

/// Tells the customer what became of the factor.
pub async fn tell(storefront: &Storefront, caller: &SignedInCustomer, languages: &AcceptedLanguages, about: Notice) {
    let (particulars, at) = (Particulars::default(), storefront.clock.now());
    notices::tell(storefront, &caller.customer, Occurrence { store: &caller.store, languages, about, particulars, at }).await;
}
