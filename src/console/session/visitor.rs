//! Who looks at a page, as a handler parameter: a signed-in operator, or a visitor of the portal.

use axum::extract::{FromRequestParts, OriginalUri};
use axum::http::Method;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Redirect, Response};
use futures::FutureExt;

use crate::callers::Caller;
use crate::companies;
use crate::console::Console;
use crate::console::addresses::{CONFIRM, HOME, with_query};
use crate::console::session::cookies::Cookie;
use crate::console::session::totp;
use crate::console::shell::{PageError, Ui};
use crate::kernel::client_address::ClientAddress;
use crate::kernel::crypto::hmac_sha256;
use crate::kernel::request_id::RequestId;
use crate::operators::{LiveSession, SessionToken};
use crate::portal;

/// Where one gets without an open link.
const LINK_ENDED: &str = "/portal/open?ended";

/// A request of a signed-in operator; for pages of the portal, of somebody who has opened a link. Without a session, the browser is sent to
/// the page where one begins.
pub struct Visitor {
    /// The operator's session; `None` in the portal.
    session: Option<LiveSession>,
    /// Who it is, as the API knows callers.
    pub caller: Caller,
    /// What surrounds the page.
    pub ui: Ui,
}

impl Visitor {
    /// The operator's session. Visitors of the portal have none.
    pub fn session(&self) -> Result<&LiveSession, PageError> {
        self.session.as_ref().ok_or(PageError::NOT_FOUND)
    }

    /// The token that forms of this session of the portal carry.
    fn form_token(token: &str) -> String {
        hex::encode(hmac_sha256(token.as_bytes(), &[b"forms of the console"]))
    }
}

impl FromRequestParts<Console> for Visitor {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, console: &Console) -> Result<Self, Response> {
        if console.is_portal() {
            return Self::of_portal(parts, console).await;
        }
        let Ok(client) = ClientAddress::from_request_parts(parts, console).await;
        let token = Cookie::Session.read(&parts.headers, console.secure).map(|value| SessionToken::claimed(&value));
        let session = match &token {
            Some(token) => {
                console.operators.find_session(token, client).boxed().await.map_err(|error| PageError::from(error).into_response())?
            }
            None => None,
        };
        let Some(session) = session else { return Err(to_sign_in(parts).into_response()) };
        if console.operators.must_enrol(&session) && !is_open_without_second_factor(parts) {
            return Err(Redirect::to(totp::PAGE).into_response());
        }
        let company = company_of(console, &session).boxed().await.map_err(|error| PageError::from(error).into_response())?;
        let caller = session.caller(RequestId::of(parts));
        let mut ui = Ui::of(parts, console);
        let form_token = console.operators.form_token(&session);
        ui.sign_in(&session.operator, company, &caller, &console.kinds, console.has_mailbox, form_token);
        Ok(Self { session: Some(session), caller, ui })
    }
}

impl Visitor {
    async fn of_portal(parts: &mut Parts, console: &Console) -> Result<Self, Response> {
        let Ok(client) = ClientAddress::from_request_parts(parts, console).await;
        let token = Cookie::of_portal(console).read(&parts.headers, console.secure).map(|value| portal::SessionToken::claimed(&value));
        let session = match &token {
            Some(token) => {
                console.portal.find_session(token, client).boxed().await.map_err(|error| PageError::from(error).into_response())?
            }
            None => None,
        };
        let (Some(token), Some(session)) = (token, session) else { return Err(Redirect::to(LINK_ENDED).into_response()) };
        let caller = session.caller(RequestId::of(parts));
        let mut ui = Ui::of(parts, console);
        ui.enter_portal(&session.theme, &caller, &console.kinds, Self::form_token(token.reveal()));
        Ok(Self { session: None, caller, ui })
    }
}

/// The name of the company that the operator of a session works for here: they may work for others too.
async fn company_of(console: &Console, session: &LiveSession) -> Result<String, sqlx::Error> {
    companies::company_name(&mut console.operators.pool.acquire().await?, session.operator.company).await
}

/// Whether somebody who must set up a second factor may open the page before.
fn is_open_without_second_factor(parts: &Parts) -> bool {
    let page = parts.extensions.get::<OriginalUri>().map_or(&parts.uri, |original| &original.0).path();
    [totp::PAGE, CONFIRM, "/console/sign-out", "/console/preferences"].contains(&page)
}

/// To the sign-in, and from there back to this page. A form cannot be sent again by opening its address.
fn to_sign_in(parts: &Parts) -> Redirect {
    let page = parts.extensions.get::<OriginalUri>().map_or(&parts.uri, |original| &original.0);
    let page = page.path_and_query().filter(|_| parts.method == Method::GET).map_or(HOME, |page| page.as_str());
    Redirect::to(&with_query("/console/sign-in", [("then", page)]))
}
