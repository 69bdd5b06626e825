//! Signing in with a password or a link, and out.

use askama::Template;
use axum::Form;
use axum::extract::{Query, State};
use axum::http::header;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Redirect, Response};
use secrecy::SecretString;
use serde::Deserialize;

use crate::console::Console;
use crate::console::addresses::{HOME, with_query};
use crate::console::session::PostedForm;
use crate::console::session::cookies::Cookie;
use crate::console::session::entering::{browser, explain, go_on, own_page};
use crate::console::session::forms::require_own_page;
use crate::console::shell::{Page, PageError, Ui};
use crate::kernel::client_address::ClientAddress;
use crate::operators::{OneTimeLink, SignInRefusal};

#[derive(Template)]
#[template(path = "session/sign_in.html")]
pub(super) struct SignInPage {
    pub(super) ui: Ui,
    /// The page to show afterwards.
    pub(super) then: String,
    /// What was entered.
    pub(super) email: String,
    /// Why nobody is signed in yet.
    pub(super) refusal: Option<String>,
    /// The provider that operators can sign in with.
    pub(super) provider: Option<ProviderLink>,
}

/// A link to the company's identity provider.
pub(super) struct ProviderLink {
    pub(super) name: String,
    pub(super) address: String,
}

impl ProviderLink {
    /// `None` if operators cannot sign in with one.
    pub(super) fn of(console: &Console, then: &str) -> Option<Self> {
        let address = with_query("/console/sign-in/provider", [("then", then)]);
        console.operators.provider_name().map(|name| Self { name, address })
    }
}

#[derive(Template)]
#[template(path = "session/sign_in_once.html")]
struct SignInOncePage {
    ui: Ui,
}

#[derive(Default, Deserialize)]
pub(super) struct Destination {
    #[serde(default)]
    pub(super) then: String,
}

#[derive(Deserialize)]
pub(super) struct Credentials {
    email: String,
    password: SecretString,
    #[serde(default)]
    then: String,
}

#[derive(Deserialize)]
pub(super) struct Link {
    key: String,
}

pub(super) async fn show(State(console): State<Console>, Query(destination): Query<Destination>, parts: Parts) -> Response {
    let provider = ProviderLink::of(&console, &destination.then);
    let page = SignInPage { ui: Ui::of(&parts, &console), then: destination.then, email: String::new(), refusal: None, provider };
    Page(page).into_response()
}

pub(super) async fn submit(
    State(console): State<Console>,
    client: ClientAddress,
    parts: Parts,
    Form(credentials): Form<Credentials>,
) -> Result<Response, PageError> {
    require_own_page(&parts.headers)?;
    let Credentials { email, password, then } = credentials;
    match console.operators.sign_in(&email, &password, &browser(&console, &parts, client)).await {
        Ok(progress) => Ok(go_on(&console, &progress, own_page(&then))),
        Err(refusal) => refuse(&console, Ui::of(&parts, &console), refusal, then, email),
    }
}

/// The key of a link stands behind its `#`, so no request for the page contains it. The script of the page fills it in.
pub(super) async fn show_link(State(console): State<Console>, parts: Parts) -> Response {
    Page(SignInOncePage { ui: Ui::of(&parts, &console) }).into_response()
}

pub(super) async fn submit_link(
    State(console): State<Console>,
    client: ClientAddress,
    parts: Parts,
    Form(link): Form<Link>,
) -> Result<Response, PageError> {
    require_own_page(&parts.headers)?;
    match console.operators.sign_in_by_link(&OneTimeLink::claimed(&link.key), &browser(&console, &parts, client)).await {
        Ok(progress) => Ok(go_on(&console, &progress, HOME)),
        Err(refusal) => {
            let ended = "This link has been used or has expired. Sign in with your password.";
            refuse_saying(&console, Ui::of(&parts, &console), (refusal, ended), String::new(), String::new())
        }
    }
}

pub(super) async fn sign_out(State(console): State<Console>, form: PostedForm) -> Result<Response, PageError> {
    console.operators.end_session(&form.visitor.caller, form.visitor.session()?.id).await?;
    let mut response = Redirect::to("/console/sign-in").into_response();
    response.headers_mut().append(header::SET_COOKIE, Cookie::Session.remove(console.secure));
    Ok(response)
}

/// The sign-in page, which says why nobody is signed in yet. A step that has ended, or is of another browser, has to begin anew.
pub(super) fn refuse(console: &Console, ui: Ui, refusal: SignInRefusal, then: String, email: String) -> Result<Response, PageError> {
    let ended = "This sign-in was not begun in this browser, was cancelled, or took too long. Begin again.";
    refuse_saying(console, ui, (refusal, ended), then, email)
}

/// The same, with what to say about something that is over.
pub(super) fn refuse_saying(
    console: &Console,
    ui: Ui,
    (refusal, ended): (SignInRefusal, &str),
    then: String,
    email: String,
) -> Result<Response, PageError> {
    let wrong = "The address or the password is not right.";
    let (refused, text) = explain(&ui, refusal, wrong, ended)?;
    let provider = ProviderLink::of(console, &then);
    Ok(refused.with(Page(SignInPage { ui, then, email, refusal: Some(text), provider })))
}
