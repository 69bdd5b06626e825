//! Signing in and out.

use askama::Template;
use axum::Form;
use axum::extract::{Query, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use secrecy::SecretString;
use serde::Deserialize;

use crate::console::Console;
use crate::console::addresses::HOME;
use crate::console::session::PostedForm;
use crate::console::session::cookies::Cookie;
use crate::console::session::forms::require_own_page;
use crate::console::shell::{Page, PageError, Ui};
use crate::kernel::client_address::ClientAddress;
use crate::kernel::request_id::RequestId;
use crate::operators::{Browser, OneTimeLink, SessionToken, SignInRefusal, SignedIn};

#[derive(Template)]
#[template(path = "session/sign_in.html")]
struct SignInPage {
    ui: Ui,
    /// The page to show afterwards.
    then: String,
    /// What was entered.
    email: String,
    /// Why nobody is signed in yet.
    refusal: Option<String>,
}

#[derive(Template)]
#[template(path = "session/sign_in_once.html")]
struct SignInOncePage {
    ui: Ui,
}

#[derive(Default, Deserialize)]
pub(super) struct Destination {
    #[serde(default)]
    then: String,
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
    let page = SignInPage { ui: Ui::of(&parts, &console), then: destination.then, email: String::new(), refusal: None };
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
    match console.operators.sign_in(&email, password, &browser(&console, &parts, client)).await {
        Ok(signed_in) => Ok(enter(&console, &signed_in, own_page(&then))),
        Err(refusal) => refuse(Ui::of(&parts, &console), refusal, then, email),
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
    match console.operators.sign_in_by_link(&OneTimeLink::claimed(link.key), &browser(&console, &parts, client)).await {
        Ok(signed_in) => Ok(enter(&console, &signed_in, HOME)),
        Err(refusal) => refuse(Ui::of(&parts, &console), refusal, String::new(), String::new()),
    }
}

pub(super) async fn sign_out(State(console): State<Console>, form: PostedForm) -> Result<Response, PageError> {
    console.operators.end_session(&form.visitor.caller, form.visitor.session.id).await?;
    let mut response = Redirect::to("/console/sign-in").into_response();
    response.headers_mut().append(header::SET_COOKIE, Cookie::Session.remove(console.secure));
    Ok(response)
}

fn browser(console: &Console, parts: &Parts, address: ClientAddress) -> Browser {
    let user_agent = parts.headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    Browser {
        address,
        user_agent: user_agent.to_owned(),
        known: Cookie::KnownBrowser.read(&parts.headers, console.secure).map(Into::into),
        session: Cookie::Session.read(&parts.headers, console.secure).map(|token| SessionToken::claimed(&token)),
        request: RequestId::of(parts),
    }
}

fn enter(console: &Console, signed_in: &SignedIn, page: &str) -> Response {
    let mut response = Redirect::to(page).into_response();
    let headers = response.headers_mut();
    headers.append(header::SET_COOKIE, Cookie::Session.set(signed_in.token.reveal(), console.secure));
    headers.append(header::SET_COOKIE, Cookie::KnownBrowser.set(signed_in.browser.reveal(), console.secure));
    response
}

/// `then` if it is a page of the console, otherwise the first page: a link must not lead to another site.
pub(super) fn own_page(then: &str) -> &str {
    let below = then.strip_prefix(HOME).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']));
    if below && !then.contains(['\\', '\r', '\n']) { then } else { HOME }
}

/// The sign-in page, which says why nobody is signed in yet.
fn refuse(ui: Ui, refusal: SignInRefusal, then: String, email: String) -> Result<Response, PageError> {
    let (status, text) = match refusal {
        SignInRefusal::Wrong => (StatusCode::UNAUTHORIZED, ui.t("The address or the password is not right.").to_owned()),
        SignInRefusal::LinkEnded => {
            (StatusCode::UNAUTHORIZED, ui.t("This link has been used or has expired. Sign in with your password.").to_owned())
        }
        SignInRefusal::TooMany(status) => {
            let minutes = status.retry_after().div_ceil(60);
            (StatusCode::TOO_MANY_REQUESTS, ui.say("Too many attempts. Try again in {} min.", [minutes]))
        }
        SignInRefusal::Busy(_) => (StatusCode::SERVICE_UNAVAILABLE, ui.t("Too much is going on at the moment. Try again.").to_owned()),
        SignInRefusal::Database(error) => return Err(error.into()),
    };
    Ok((status, Page(SignInPage { ui, then, email, refusal: Some(text) })).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_led_to_pages_of_the_console_only() {
        for page in ["/console", "/console/", "/console/records/fleet/orders?status=created"] {
            assert_eq!(own_page(page), page);
        }
        for other in ["", "/", "//evil.example", "https://evil.example", "/consoles", "/console\\@evil.example", "/console\r\nx: y"] {
            assert_eq!(own_page(other), HOME, "{other:?}");
        }
    }
}
