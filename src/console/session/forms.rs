//! Forms that change something, as a handler parameter.
//!
//! Another site can make a browser send a form here, but its origin tells, and it does not know the token.

use axum::Form;
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use secrecy::ExposeSecret;

use crate::console::Console;
use crate::console::session::Visitor;
use crate::console::shell::PageError;
use crate::kernel::crypto::SecretDigest;

/// The name of the field with the token.
const TOKEN: &str = "form_token";

/// A form that the operator has sent from a page of this console.
pub struct PostedForm {
    /// Who has sent it.
    pub visitor: Visitor,
    fields: Vec<(String, String)>,
}

impl PostedForm {
    /// The value of a field, without white space around it; `None` if it is missing or empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.raw(name).map(str::trim).filter(|value| !value.is_empty())
    }

    /// The value of a field as it was entered.
    pub fn raw(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// All values of a field.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.fields.iter().filter(move |(found, _)| found == name).map(|(_, value)| value.as_str())
    }
}

impl FromRequest<Console> for PostedForm {
    type Rejection = Response;

    async fn from_request(request: Request, console: &Console) -> Result<Self, Response> {
        require_own_page(request.headers()).map_err(IntoResponse::into_response)?;
        let (mut parts, body) = request.into_parts();
        let visitor = <Visitor as axum::extract::FromRequestParts<Console>>::from_request_parts(&mut parts, console).await?;
        let expected = SecretDigest::from(visitor.ui.form_token.expose_secret().as_bytes().to_vec());
        let request = Request::from_parts(parts, body);
        let fields = Form::<Vec<(String, String)>>::from_request(request, console).await;
        let Form(fields) = fields.map_err(|_| PageError::UNREADABLE.into_response())?;
        let form = Self { visitor, fields };
        if expected.is(form.raw(TOKEN).unwrap_or_default()) { Ok(form) } else { Err(PageError::FOREIGN_FORM.into_response()) }
    }
}

/// Refuses a request that a page of another site has made. Every browser in use sends `Sec-Fetch-Site` or at least `Origin`.
pub(super) fn require_own_page(headers: &HeaderMap) -> Result<(), PageError> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let own = match text(header::HeaderName::from_static("sec-fetch-site")) {
        Some(site) => site == "same-origin",
        None => match (text(header::ORIGIN), text(header::HOST)) {
            (Some(origin), Some(host)) => origin.split_once("://").is_some_and(|(_, origin_host)| origin_host == host),
            _ => false,
        },
    };
    if own { Ok(()) } else { Err(PageError::FOREIGN_FORM) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn a_form_must_come_from_a_page_of_the_same_origin() {
        let judge = |lines: &[(&'static str, &'static str)]| {
            let headers = lines.iter().map(|(name, value)| (header::HeaderName::from_static(name), HeaderValue::from_static(value)));
            require_own_page(&HeaderMap::from_iter(headers)).is_ok()
        };
        assert!(judge(&[("sec-fetch-site", "same-origin")]));
        assert!(judge(&[("origin", "https://hub.example"), ("host", "hub.example")]));
        for foreign in [
            &[("sec-fetch-site", "cross-site"), ("origin", "https://hub.example"), ("host", "hub.example")] as &[_],
            &[("sec-fetch-site", "same-site")],
            &[("sec-fetch-site", "none")],
            &[("origin", "https://evil.example"), ("host", "hub.example")],
            &[("origin", "null"), ("host", "hub.example")],
            &[("host", "hub.example")],
            &[],
        ] {
            assert!(!judge(foreign), "{foreign:?}");
        }
    }
}
