//! The signed-in operator, as a handler parameter.

use axum::extract::{FromRequestParts, OriginalUri};
use axum::http::Method;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Redirect, Response};

use crate::callers::Caller;
use crate::console::Console;
use crate::console::addresses::{HOME, with_query};
use crate::console::session::cookies::Cookie;
use crate::console::shell::{PageError, Ui};
use crate::kernel::crypto::hmac_sha256;
use crate::kernel::request_id::RequestId;
use crate::operators::{LiveSession, SessionToken};

/// A request of a signed-in operator. Without a session, the browser is sent to the sign-in.
pub struct Visitor {
    /// The session.
    pub session: LiveSession,
    /// The operator, as the API knows callers.
    pub caller: Caller,
    /// What surrounds the page.
    pub ui: Ui,
}

impl Visitor {
    /// The token that forms of this session carry.
    pub fn form_token(token: &SessionToken) -> String {
        hex::encode(hmac_sha256(token.reveal().as_bytes(), &[b"forms of the console"]))
    }
}

impl FromRequestParts<Console> for Visitor {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, console: &Console) -> Result<Self, Response> {
        let token = Cookie::Session.read(&parts.headers, console.secure).map(|value| SessionToken::claimed(&value));
        let session = match &token {
            Some(token) => console.operators.find_session(token).await.map_err(|error| PageError::from(error).into_response())?,
            None => None,
        };
        let (Some(token), Some(session)) = (token, session) else { return Err(to_sign_in(parts).into_response()) };
        let caller = session.caller(RequestId::of(parts));
        let mut ui = Ui::of(parts, console);
        ui.sign_in(&session.operator, &caller, &console.kinds, Self::form_token(&token));
        Ok(Self { session, caller, ui })
    }
}

/// To the sign-in, and from there back to this page. A form cannot be sent again by opening its address.
fn to_sign_in(parts: &Parts) -> Redirect {
    let page = parts.extensions.get::<OriginalUri>().map_or(&parts.uri, |original| &original.0);
    let page = page.path_and_query().filter(|_| parts.method == Method::GET).map_or(HOME, |page| page.as_str());
    Redirect::to(&with_query("/console/sign-in", [("then", page)]))
}
