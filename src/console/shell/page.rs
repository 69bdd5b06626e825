//! A page as a response, and the page that says why there is none.

use askama::Template;
use axum::extract::State;
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::console::Console;
use crate::console::shell::Ui;
use crate::kernel::error_chain::chain;
use crate::kernel::middleware::TellsTheReason;
use crate::kernel::problem::{Problem, ProblemCode};

/// A page, as HTML.
#[derive(Debug)]
pub struct Page<T>(pub T);

impl<T: Template> IntoResponse for Page<T> {
    fn into_response(self) -> Response {
        match self.0.render() {
            Ok(html) => {
                let mut response = html.into_response();
                response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
                response.extensions_mut().insert(TellsTheReason);
                response
            }
            Err(error) => {
                tracing::error!(error = chain(&error), "a page could not be written");
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
        }
    }
}

/// The reason why there is no page, for people.
#[derive(Clone, Debug)]
pub struct PageError {
    status: StatusCode,
    text: String,
    code: &'static str,
}

impl PageError {
    /// There is no such page, or the operator may not know of it.
    pub const NOT_FOUND: Self = Self::new(StatusCode::NOT_FOUND, "not_found");
    /// The form was made for another browser, or by another site.
    pub const FOREIGN_FORM: Self = Self::new(StatusCode::FORBIDDEN, "foreign_form");
    /// The form cannot be read.
    pub const UNREADABLE: Self = Self::new(StatusCode::BAD_REQUEST, "unreadable_form");

    const fn new(status: StatusCode, code: &'static str) -> Self {
        Self { status, text: String::new(), code }
    }

    /// What happened, in the language of the visitor.
    fn sentence(&self, ui: &Ui) -> String {
        match self.code {
            "not_found" => ui.t("There is no such page, or your role does not include it.").to_owned(),
            "foreign_form" => ui.t("This form is not from your session. Go back, reload the page and send it again.").to_owned(),
            "unreadable_form" => ui.t("The form could not be read.").to_owned(),
            "database_unavailable" => ui.t("The database does not answer. Nothing was changed; try again in a moment.").to_owned(),
            _ => self.text.clone(),
        }
    }
}

impl From<Problem> for PageError {
    fn from(problem: Problem) -> Self {
        match problem.code() {
            ProblemCode::RecordNotFound | ProblemCode::RouteUnknown => Self::NOT_FOUND,
            code => Self { status: code.status(), text: problem.to_string(), code: code.as_str() },
        }
    }
}

impl From<sqlx::Error> for PageError {
    fn from(error: sqlx::Error) -> Self {
        Problem::from(error).into()
    }
}

#[derive(Template)]
#[template(path = "shell/error.html")]
struct ErrorPage {
    ui: Ui,
    status: u16,
    sentence: String,
    code: &'static str,
}

impl IntoResponse for PageError {
    /// The page has no navigation: who may not be signed in sees it too.
    fn into_response(self) -> Response {
        let ui = Ui::plain();
        let page = ErrorPage { status: self.status.as_u16(), sentence: self.sentence(&ui), code: self.code, ui };
        (self.status, Page(page)).into_response()
    }
}

/// A page that does not exist.
pub(super) async fn unknown(State(console): State<Console>, parts: Parts) -> Response {
    let ui = Ui::of(&parts, &console);
    let error = PageError::NOT_FOUND;
    let page = ErrorPage { status: error.status.as_u16(), sentence: error.sentence(&ui), code: error.code, ui };
    (error.status, Page(page)).into_response()
}
