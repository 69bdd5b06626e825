//! Who reads the documentation: on which address of the service, in which programming language, and signed in or not.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use url::form_urlencoded;

use crate::callers::Caller;
use crate::console::Console;
use crate::console::docs::frame::Frame;
use crate::console::session::Visitor;
use crate::console::shell::{Ui, cookies};
use crate::handbook::code::Language;

/// The cookie that keeps the programming language.
const COOKIE: &str = "portico-code";

/// A request for a page of the documentation.
pub struct Reader {
    /// What surrounds every page.
    pub ui: Ui,
    /// The navigation of the documentation.
    pub frame: Frame,
    /// The operator who is signed in.
    pub caller: Option<Caller>,
    /// The address of the service, as the browser reaches it: `https://portico.example`.
    pub base: String,
    /// The language of programs.
    pub language: Language,
    /// Whether the language was chosen by this request.
    chosen: bool,
}

impl FromRequestParts<Console> for Reader {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, console: &Console) -> Result<Self, Infallible> {
        let path = parts.uri.path().to_owned();
        let chosen = form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes())
            .find(|(name, _)| name == "code")
            .and_then(|(_, name)| Language::read(&name));
        let kept = cookies(&parts.headers, COOKIE).find_map(Language::read);
        let base = format!("{}://{}", if console.secure { "https" } else { "http" }, host(&parts.headers));
        // Whoever is not signed in reads as well, and so does everybody while the database is away.
        let (ui, caller) = match Visitor::from_request_parts(parts, console).await {
            Ok(visitor) => (visitor.ui, Some(visitor.caller)),
            Err(_) => (Ui::of(parts, console), None),
        };
        let frame = Frame::of(console.handbook.contents(), &path);
        Ok(Self { ui, frame, caller, base, language: chosen.or(kept).unwrap_or_default(), chosen: chosen.is_some() })
    }
}

/// The host that the browser asked for. What is no host is not repeated.
fn host(headers: &HeaderMap) -> String {
    let asked = headers.get(header::HOST).and_then(|host| Authority::try_from(host.as_bytes()).ok());
    let is_plain = |host: &Authority| host.as_str().chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '[' | ']'));
    asked.filter(is_plain).map_or_else(|| "portico.example".to_owned(), |host| host.to_string())
}

impl Reader {
    /// The cookie that keeps the language, if this request chose one.
    pub fn cookie(&self) -> Option<HeaderValue> {
        let cookie = format!("{COOKIE}={}; Path=/docs; SameSite=Lax; Max-Age=31536000", self.language.as_str());
        HeaderValue::from_str(&cookie).ok().filter(|_| self.chosen)
    }
}

/// A page with the cookie that keeps the language.
pub(super) fn keeping(cookie: Option<HeaderValue>, page: impl IntoResponse) -> Response {
    let mut response = page.into_response();
    if let Some(cookie) = cookie {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}
