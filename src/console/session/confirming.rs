//! An operator proves again who they are, on the way to what decides who gets in or shows a secret.

use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use secrecy::SecretString;

use crate::console::Console;
use crate::console::addresses::with_query;
use crate::console::session::Visitor;
use crate::console::session::entering::{ProofForm, explain, going_on, own_page};
use crate::console::session::sign_in::{Destination, ProviderLink};
use crate::console::shell::{Page, PageError, Ui};
use crate::operators::{Proof, SignInRefusal};

#[derive(Template)]
#[template(path = "session/confirm.html")]
struct ConfirmPage {
    ui: Ui,
    /// The page to show afterwards.
    then: String,
    by_code: bool,
    by_password: bool,
    /// Whose password it is, for password managers.
    email: String,
    /// The provider that the operator can sign in with instead.
    provider: Option<ProviderLink>,
    /// Where they sign in anew.
    sign_in: String,
    refusal: Option<String>,
}

/// `GET /console/confirm`
pub(super) async fn show(
    State(console): State<Console>,
    visitor: Visitor,
    Query(Destination { then }): Query<Destination>,
) -> Result<Response, PageError> {
    if !visitor.session()?.needs_proof() {
        return Ok(Redirect::to(own_page(&then)).into_response());
    }
    Ok(Page(page(&console, visitor, then, None).await?).into_response())
}

/// `POST /console/confirm`
pub(super) async fn submit(State(console): State<Console>, ProofForm { form, browser }: ProofForm) -> Result<Response, PageError> {
    let then = form.get("then").unwrap_or_default().to_owned();
    let typed = SecretString::from(form.raw("proof").unwrap_or_default());
    let visitor = form.visitor;
    match console.operators.confirm(visitor.session()?, &typed, &browser).await {
        Ok(token) => Ok(going_on(&console, &token, Redirect::to(own_page(&then)).into_response())),
        // Somebody has ended the session, or a proof in another tab has given it another token.
        Err(SignInRefusal::LinkEnded) => Ok(Redirect::to(&with_query("/console/sign-in", [("then", own_page(&then))])).into_response()),
        Err(refusal) => {
            let wrong = match console.operators.proof_of(&visitor.session()?.operator).await? {
                Some(Proof::Code) => "This code is not right, or it was used before. Wait for the next one.",
                Some(Proof::Password) | None => "The password is not right.",
            };
            let (mut refused, text) = explain(&visitor.ui, refusal, wrong, wrong)?;
            // A form that was not accepted is shown again; a sign-in is refused with another status.
            if refused.status == StatusCode::UNAUTHORIZED {
                refused.status = StatusCode::UNPROCESSABLE_ENTITY;
            }
            Ok(refused.with(Page(page(&console, visitor, then, Some(text)).await?)))
        }
    }
}

async fn page(console: &Console, visitor: Visitor, then: String, refusal: Option<String>) -> Result<ConfirmPage, PageError> {
    let operator = &visitor.session()?.operator;
    let proof = console.operators.proof_of(operator).await?;
    Ok(ConfirmPage {
        by_code: proof == Some(Proof::Code),
        by_password: proof == Some(Proof::Password),
        email: operator.email.clone(),
        provider: ProviderLink::of(console, own_page(&then)),
        sign_in: with_query("/console/sign-in", [("then", own_page(&then))]),
        then,
        refusal,
        ui: visitor.ui,
    })
}
