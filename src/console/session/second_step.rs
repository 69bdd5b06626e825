//! The step between the first and the second factor. The browser has proven the first; a cookie that no other browser has says so.

use askama::Template;
use axum::Form;
use axum::extract::{Query, State};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;

use crate::console::Console;
use crate::console::session::entering::{browser, enter, explain, step};
use crate::console::session::forms::require_own_page;
use crate::console::session::sign_in::{self, Destination};
use crate::console::shell::{Page, PageError, Ui};
use crate::kernel::client_address::ClientAddress;
use crate::operators::SignInRefusal;

/// What is said of a step that is over: the form may have come twice.
const OVER: &str = "This sign-in was finished or has waited too long. Sign in with your password.";

#[derive(Template)]
#[template(path = "session/second_step.html")]
struct SecondStepPage {
    ui: Ui,
    then: String,
    refusal: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Entered {
    code: String,
    #[serde(default)]
    then: String,
}

/// `GET /console/sign-in/code`
pub(super) async fn show(
    State(console): State<Console>,
    Query(destination): Query<Destination>,
    parts: Parts,
) -> Result<Response, PageError> {
    let waits = match step(&console, &parts) {
        Some(step) => console.operators.is_waiting(&step).await?,
        None => false,
    };
    if !waits {
        return Ok(Redirect::to("/console/sign-in").into_response());
    }
    Ok(Page(SecondStepPage { ui: Ui::of(&parts, &console), then: destination.then, refusal: None }).into_response())
}

/// `POST /console/sign-in/code`
pub(super) async fn submit(
    State(console): State<Console>,
    client: ClientAddress,
    parts: Parts,
    Form(Entered { code, then }): Form<Entered>,
) -> Result<Response, PageError> {
    require_own_page(&parts.headers)?;
    let ui = Ui::of(&parts, &console);
    let Some(step) = step(&console, &parts) else {
        return sign_in::refuse(&console, ui, SignInRefusal::LinkEnded, then, String::new());
    };
    match console.operators.sign_in_by_code(&step, &code, &browser(&console, &parts, client)).await {
        Ok(signed_in) => Ok(enter(&console, &signed_in, &then)),
        Err(ended @ SignInRefusal::LinkEnded) => sign_in::refuse_saying(&console, ui, (ended, OVER), then, String::new()),
        Err(refusal) => {
            let (refused, text) = explain(&ui, refusal, "This code is not right, or it was used before. Wait for the next one.", "")?;
            Ok(refused.with(Page(SecondStepPage { ui, then, refusal: Some(text) })))
        }
    }
}
