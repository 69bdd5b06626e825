//! What every way to sign in has in common: the browser that asks, and the cookies that it gets.

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};

use crate::console::Console;
use crate::console::addresses::{HOME, with_query};
use crate::console::session::PostedForm;
use crate::console::session::cookies::Cookie;
use crate::console::shell::{PageError, Refused, Ui};
use crate::kernel::client_address::ClientAddress;
use crate::kernel::request_id::RequestId;
use crate::operators::{Browser, OneTimeLink, Progress, SessionToken, SignInRefusal, SignedIn};

/// The browser that sends a request.
pub(super) fn browser(console: &Console, parts: &Parts, address: ClientAddress) -> Browser {
    let user_agent = parts.headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    Browser {
        address,
        user_agent: user_agent.to_owned(),
        known: Cookie::KnownBrowser.read(&parts.headers, console.secure).map(Into::into),
        session: Cookie::Session.read(&parts.headers, console.secure).map(|token| SessionToken::claimed(&token)),
        request: RequestId::of(parts),
    }
}

/// A form of a signed-in operator with a proof of who they are, and the browser that has sent it.
pub(super) struct ProofForm {
    pub(super) form: PostedForm,
    pub(super) browser: Browser,
}

impl FromRequest<Console> for ProofForm {
    type Rejection = Response;

    async fn from_request(request: Request, console: &Console) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let client = ClientAddress::from_request_parts(&mut parts, console).await.map_err(IntoResponse::into_response)?;
        let browser = browser(console, &parts, client);
        let form = PostedForm::from_request(Request::from_parts(parts, body), console).await?;
        Ok(Self { form, browser })
    }
}

/// The step of a sign-in that the browser has come to.
pub(super) fn step(console: &Console, parts: &Parts) -> Option<OneTimeLink> {
    Cookie::Step.read(&parts.headers, console.secure).map(|step| OneTimeLink::claimed(&step))
}

/// Opens the page `then`, or first the ones that ask for a company and for the second factor.
pub(super) fn go_on(console: &Console, progress: &Progress, then: &str) -> Response {
    let (page, step) = match progress {
        Progress::SignedIn(signed_in) => return enter(console, signed_in, then),
        Progress::Choice(step) => ("/console/sign-in/company", step),
        Progress::SecondStep(step) => ("/console/sign-in/code", step),
    };
    let mut response = Redirect::to(&with_query(page, [("then", own_page(then))])).into_response();
    let headers = response.headers_mut();
    headers.append(header::SET_COOKIE, Cookie::Step.set(step.reveal(), console.secure));
    headers.append(header::SET_COOKIE, Cookie::AtProvider.remove(console.secure));
    response
}

/// Opens a page of the console with a session, whose token is new, and without what belonged to the sign-in.
pub(super) fn enter(console: &Console, signed_in: &SignedIn, then: &str) -> Response {
    let mut response = Redirect::to(own_page(then)).into_response();
    let headers = response.headers_mut();
    headers.append(header::SET_COOKIE, Cookie::Session.set(signed_in.token.reveal(), console.secure));
    headers.append(header::SET_COOKIE, Cookie::KnownBrowser.set(signed_in.browser.reveal(), console.secure));
    for used in [Cookie::Step, Cookie::AtProvider] {
        headers.append(header::SET_COOKIE, used.remove(console.secure));
    }
    response
}

/// A response to somebody who has proven again who they are, with the token that their session has from now on.
pub(super) fn going_on(console: &Console, token: &SessionToken, mut response: Response) -> Response {
    response.headers_mut().append(header::SET_COOKIE, Cookie::Session.set(token.reveal(), console.secure));
    response
}

/// `then` if it is a page of the console, otherwise the first page: a link must not lead to another site.
pub(super) fn own_page(then: &str) -> &str {
    let below = then.strip_prefix(HOME).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']));
    if below && !then.contains(['\\', '\r', '\n']) { then } else { HOME }
}

/// Why nobody is signed in yet, for people; `wrong` is what to say about a wrong proof, `ended` about one that is over.
pub(super) fn explain(ui: &Ui, refusal: SignInRefusal, wrong: &str, ended: &str) -> Result<(Refused, String), PageError> {
    Ok(match refusal {
        SignInRefusal::Wrong => (StatusCode::UNAUTHORIZED.into(), ui.t(wrong).to_owned()),
        SignInRefusal::LinkEnded => (StatusCode::UNAUTHORIZED.into(), ui.t(ended).to_owned()),
        SignInRefusal::TooMany(status) => {
            let minutes = status.retry_after().div_ceil(60);
            (Refused::by(&status), ui.say("Too many attempts. Try again in {} min.", [minutes]))
        }
        SignInRefusal::Busy(_) => {
            (StatusCode::SERVICE_UNAVAILABLE.into(), ui.t("Too much is going on at the moment. Try again.").to_owned())
        }
        SignInRefusal::Database(error) => return Err(error.into()),
    })
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
