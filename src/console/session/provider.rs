//! Signing in with the company's identity provider.

use axum::extract::{Query, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use secrecy::{ExposeSecret, SecretString};

use crate::console::Console;
use crate::console::session::cookies::Cookie;
use crate::console::session::entering::{browser, go_on, own_page};
use crate::console::session::sign_in::{self, Destination, ProviderLink, SignInPage};
use crate::console::shell::{Page, PageError, Refused, Ui};
use crate::kernel::client_address::ClientAddress;
use crate::operators::{ProviderRefusal, Returned, SignInRefusal};
use crate::providers::identity::VerifyError;

/// `GET /console/sign-in/provider`: a link, because the policy of pages lets no form lead to another host.
pub(super) async fn begin(
    State(console): State<Console>,
    Query(Destination { then }): Query<Destination>,
    parts: Parts,
) -> Result<Response, PageError> {
    match console.operators.begin_with_provider(own_page(&then)).await {
        Ok((page, kept)) => {
            let mut response = Redirect::to(&page).into_response();
            let kept = Cookie::AtProvider.set(kept.expose_secret(), console.secure);
            response.headers_mut().append(header::SET_COOKIE, kept);
            Ok(response)
        }
        Err(refusal) => refuse(&console, &parts, refusal),
    }
}

/// `GET /console/sign-in/provider/return`: the provider has sent the browser back.
pub(super) async fn finish(
    State(console): State<Console>,
    client: ClientAddress,
    Query(returned): Query<Returned>,
    parts: Parts,
) -> Result<Response, PageError> {
    let kept = Cookie::AtProvider.read(&parts.headers, console.secure).map(SecretString::from).unwrap_or_default();
    match console.operators.finish_with_provider(&kept, returned, &browser(&console, &parts, client)).await {
        Ok((progress, then)) => Ok(go_on(&console, &progress, &then)),
        Err(refusal) => refuse(&console, &parts, refusal),
    }
}

/// The sign-in page, which says why the provider was asked in vain. What the browser kept is of no use any more.
fn refuse(console: &Console, parts: &Parts, refusal: ProviderRefusal) -> Result<Response, PageError> {
    let ui = Ui::of(parts, console);
    let (status, text) = match refusal {
        ProviderRefusal::NotConfigured => return Err(PageError::NOT_FOUND),
        ProviderRefusal::NotBegun => {
            (StatusCode::BAD_REQUEST, "This sign-in was not begun in this browser, was cancelled, or took too long. Begin again.")
        }
        ProviderRefusal::NoOperator | ProviderRefusal::SignIn(SignInRefusal::Wrong | SignInRefusal::LinkEnded) => {
            (StatusCode::FORBIDDEN, "The provider knows you, but no operator has your address. Ask an owner for an invitation.")
        }
        ProviderRefusal::AnotherPerson => (
            StatusCode::FORBIDDEN,
            "Somebody else at the provider signs in as the operator with your address. Ask an owner to delete that operator and to invite you.",
        ),
        ProviderRefusal::Provider(VerifyError::NotVerified(flaw)) => {
            tracing::warn!(%flaw, "an operator's sign-in with the provider was refused");
            (StatusCode::UNAUTHORIZED, "The provider did not confirm who you are. Begin again.")
        }
        ProviderRefusal::Provider(VerifyError::CodeRefused(_)) => {
            (StatusCode::UNAUTHORIZED, "The provider did not confirm who you are. Begin again.")
        }
        ProviderRefusal::Provider(
            VerifyError::Unavailable { .. } | VerifyError::CredentialsRefused { .. } | VerifyError::NotConfigured,
        ) => (StatusCode::SERVICE_UNAVAILABLE, "The provider does not answer. Try again, or sign in with your password."),
        ProviderRefusal::SignIn(refusal) => return sign_in::refuse(console, ui, refusal, String::new(), String::new()),
    };
    let refusal = Some(ui.t(text).to_owned());
    let provider = ProviderLink::of(console, "");
    let page = SignInPage { ui, then: String::new(), email: String::new(), refusal, provider };
    let mut response = Refused::from(status).with(Page(page));
    response.headers_mut().append(header::SET_COOKIE, Cookie::AtProvider.remove(console.secure));
    Ok(response)
}
