//! A page as a response, and the page that says why there is none.

use askama::Template;
use axum::extract::{OriginalUri, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use url::{Position, Url};

use crate::console::Console;
use crate::console::addresses::{CONFIRM, with_query};
use crate::console::shell::Ui;
use crate::kernel::error_chain::chain;
use crate::kernel::middleware::TellsTheReason;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::rate_limit::RateLimitStatus;

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

/// How something is refused: the status, and when it is worth while to try again.
#[derive(Clone, Copy, Debug)]
pub struct Refused {
    /// That of the response.
    pub status: StatusCode,
    /// In seconds.
    retry_after: Option<u64>,
}

impl Refused {
    /// By a limit.
    pub fn by(limit: &RateLimitStatus) -> Self {
        Self { status: StatusCode::TOO_MANY_REQUESTS, retry_after: Some(limit.retry_after()) }
    }

    /// The page that says why.
    pub fn with(self, page: impl IntoResponse) -> Response {
        let mut response = page.into_response();
        *response.status_mut() = self.status;
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

impl From<StatusCode> for Refused {
    /// What is busy or limited for an unknown time may be asked again in a second.
    fn from(status: StatusCode) -> Self {
        let passes = matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
        Self { status, retry_after: passes.then_some(1) }
    }
}

impl From<&Problem> for Refused {
    fn from(problem: &Problem) -> Self {
        Self { status: problem.code().status(), retry_after: problem.delay() }
    }
}

/// Whether what was asked is refused for what it says, which the page with it tells. What passes with time is told without it.
pub fn is_mistake(problem: &Problem) -> bool {
    problem.code().status().is_client_error() && problem.delay().is_none()
}

/// The reason why there is no page, for people.
#[derive(Clone, Debug)]
pub struct PageError {
    refused: Refused,
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
        Self { refused: Refused { status, retry_after: None }, text: String::new(), code }
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
            code => Self { refused: Refused::from(&problem), text: problem.to_string(), code: code.as_str() },
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
    /// The page itself is written by [`complete`], which knows the visitor.
    fn into_response(self) -> Response {
        let mut response = self.refused.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// Writes the page of a response that failed without one. An operator who has to prove again who they are is led to the page for that.
pub(super) async fn complete(State(console): State<Console>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let (ui, here) = (Ui::of(&parts, &console), page_of(&parts));
    let mut response = next.run(Request::from_parts(parts, body)).await;
    let failed = response.status().is_client_error() || response.status().is_server_error();
    if !failed || response.extensions().get::<TellsTheReason>().is_some() {
        return response;
    }
    let of_status = Problem::new(ProblemCode::of_status(response.status()));
    let error: PageError = response.extensions_mut().remove().unwrap_or_else(|| of_status.into());
    if error.code == ProblemCode::FreshSignInRequired.as_str() {
        return Redirect::to(&with_query(CONFIRM, [("then", here.as_deref().unwrap_or(console.home))])).into_response();
    }
    let page = ErrorPage { status: error.refused.status.as_u16(), sentence: error.sentence(&ui), code: error.code, ui };
    error.refused.with(Page(page))
}

/// The page that a request is for; for a form, the page that has sent it, as browsers say for pages of this origin.
fn page_of(parts: &Parts) -> Option<String> {
    let address = parts.extensions.get::<OriginalUri>().map_or(&parts.uri, |original| &original.0);
    if parts.method == Method::GET {
        return address.path_and_query().map(|page| page.as_str().to_owned());
    }
    let sender = Url::parse(parts.headers.get(header::REFERER)?.to_str().ok()?).ok()?;
    Some(sender[Position::BeforePath..Position::AfterQuery].to_owned())
}

/// A page that does not exist.
pub(super) async fn unknown() -> PageError {
    PageError::NOT_FOUND
}
