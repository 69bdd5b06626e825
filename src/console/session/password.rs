//! A forgotten password, and the choice of a new one by whoever was invited or has forgotten theirs.

use askama::Template;
use axum::Form;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use secrecy::SecretString;
use serde::Deserialize;

use crate::console::Console;
use crate::console::addresses::HOME;
use crate::console::session::entering::{browser, explain, go_on};
use crate::console::session::forms::require_own_page;
use crate::console::shell::{Page, PageError, Refused, Ui};
use crate::kernel::client_address::ClientAddress;
use crate::operators::{AskRefusal, OneTimeLink, OperatorPassword};

#[derive(Template)]
#[template(path = "session/forgot.html")]
struct ForgotPage {
    ui: Ui,
    email: String,
    /// Whether a mail was asked for.
    asked: bool,
    refusal: Option<String>,
}

#[derive(Template)]
#[template(path = "session/password.html")]
struct PasswordPage {
    ui: Ui,
    /// The key of the link, if the form was sent before.
    key: String,
    refusal: Option<String>,
    /// What is wrong with the password.
    error: Option<&'static str>,
}

#[derive(Deserialize)]
pub(super) struct Whom {
    email: String,
}

#[derive(Deserialize)]
pub(super) struct Chosen {
    key: String,
    password: SecretString,
}

/// `GET /console/forgot`
pub(super) async fn ask(State(console): State<Console>, parts: Parts) -> Response {
    Page(ForgotPage { ui: Ui::of(&parts, &console), email: String::new(), asked: false, refusal: None }).into_response()
}

/// `POST /console/forgot`. The answer does not depend on whether there is such an operator.
pub(super) async fn send(
    State(console): State<Console>,
    client: ClientAddress,
    parts: Parts,
    Form(Whom { email }): Form<Whom>,
) -> Result<Response, PageError> {
    require_own_page(&parts.headers)?;
    let ui = Ui::of(&parts, &console);
    match console.operators.forgot_password(&email, &browser(&console, &parts, client)).await {
        Ok(()) => Ok(Page(ForgotPage { ui, email, asked: true, refusal: None }).into_response()),
        Err(AskRefusal::Database(error)) => Err(error.into()),
        Err(AskRefusal::TooMany(status)) => {
            let refusal = ui.say("Too many attempts. Try again in {} min.", [status.retry_after().div_ceil(60)]);
            let page = ForgotPage { ui, email, asked: false, refusal: Some(refusal) };
            Ok(Refused::by(&status).with(Page(page)))
        }
    }
}

/// `GET /console/password`. The key stands behind the `#` of the address, so no request for the page contains it.
pub(super) async fn show(State(console): State<Console>, parts: Parts) -> Response {
    Page(PasswordPage { ui: Ui::of(&parts, &console), key: String::new(), refusal: None, error: None }).into_response()
}

/// `POST /console/password`
pub(super) async fn choose(
    State(console): State<Console>,
    client: ClientAddress,
    parts: Parts,
    Form(Chosen { key, password }): Form<Chosen>,
) -> Result<Response, PageError> {
    require_own_page(&parts.headers)?;
    let ui = Ui::of(&parts, &console);
    let Ok(password) = OperatorPassword::parse(&password) else {
        let page = PasswordPage { ui, key, refusal: None, error: Some("A password has 12 to 256 characters.") };
        return Ok((StatusCode::UNPROCESSABLE_ENTITY, Page(page)).into_response());
    };
    let link = OneTimeLink::claimed(&key);
    match console.operators.choose_password(&link, password, &browser(&console, &parts, client)).await {
        Ok(progress) => Ok(go_on(&console, &progress, HOME)),
        Err(refusal) => {
            let ended = "This link has been used or has expired. Ask for another one.";
            let (refused, text) = explain(&ui, refusal, ended, ended)?;
            let page = PasswordPage { ui, key: link.reveal().to_owned(), refusal: Some(text), error: None };
            Ok(refused.with(Page(page)))
        }
    }
}
