//! The step between the first and the second factor for somebody who works for several companies: they choose one. A cookie that no other browser has
//! says who they are.

use askama::Template;
use axum::Form;
use axum::extract::{Query, State};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;

use crate::console::Console;
use crate::console::session::entering::{browser, go_on, own_page, step};
use crate::console::session::forms::require_own_page;
use crate::console::session::sign_in::{self, Destination};
use crate::console::shell::{Page, PageError, Ui};
use crate::kernel::client_address::ClientAddress;
use crate::operators::{Choice, SignInRefusal};

#[derive(Template)]
#[template(path = "session/company.html")]
struct CompanyPage {
    ui: Ui,
    then: String,
    choices: Vec<Choice>,
    /// Whether choosing accepts an invitation.
    has_invitations: bool,
}

#[derive(Deserialize)]
pub(super) struct Chosen {
    /// The operator of the company.
    operator: String,
    #[serde(default)]
    then: String,
}

/// `GET /console/sign-in/company`
pub(super) async fn show(
    State(console): State<Console>,
    Query(Destination { then }): Query<Destination>,
    parts: Parts,
) -> Result<Response, PageError> {
    let choices = match step(&console, &parts) {
        Some(step) => console.operators.list_choices(&step).await?,
        None => Vec::new(),
    };
    if choices.is_empty() {
        return Ok(Redirect::to("/console/sign-in").into_response());
    }
    let has_invitations = choices.iter().any(|choice| choice.is_invited);
    Ok(Page(CompanyPage { ui: Ui::of(&parts, &console), then, choices, has_invitations }).into_response())
}

/// `POST /console/sign-in/company`
pub(super) async fn submit(
    State(console): State<Console>,
    client: ClientAddress,
    parts: Parts,
    Form(Chosen { operator, then }): Form<Chosen>,
) -> Result<Response, PageError> {
    require_own_page(&parts.headers)?;
    let operator = operator.parse().map_err(|_| PageError::NOT_FOUND)?;
    let chosen = match step(&console, &parts) {
        Some(step) => console.operators.choose_company(&step, operator, &browser(&console, &parts, client)).await,
        None => Err(SignInRefusal::LinkEnded),
    };
    match chosen {
        Ok(progress) => Ok(go_on(&console, &progress, own_page(&then))),
        Err(refusal) => sign_in::refuse(&console, Ui::of(&parts, &console), refusal, then, String::new()),
    }
}
