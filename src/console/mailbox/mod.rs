//! The mailbox of development: what would have been sent, and the codes in it.
//!
//! A mail's own HTML is shown in a frame that is cut off from the console: no script, no form, nothing from another host, and an origin of
//! its own. In production there are neither a mailbox nor these pages.

use askama::Template;
use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, header};
use axum::response::{Html, IntoResponse, Response};
use chrono::{DateTime, Utc};
use serde::Deserialize;

use crate::console::Console;
use crate::console::session::Visitor;
use crate::console::shell::{Moment, POLICY_WITH_FRAMES, Page, PageError, Ui};
use crate::kernel::routing::get;

/// The path of the mailbox in the API of development.
const API: &str = "/dev/mailbox";

/// The policy of a mail's own HTML. Its style may stand within it; everything else is forbidden, as the frame does once more.
const MAIL_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; form-action 'none'; base-uri 'none'; \
                           frame-ancestors 'self'";

#[derive(Deserialize)]
struct Message {
    number: u64,
    channel: String,
    to: String,
    subject: Option<String>,
    text: String,
    html: Option<String>,
    code: Option<String>,
    sent_at: DateTime<Utc>,
}

#[derive(Template)]
#[template(path = "mailbox/list.html")]
struct ListPage {
    ui: Ui,
    rows: Vec<Row>,
}

struct Row {
    message: Message,
    /// What the message begins with, if it has no subject.
    beginning: String,
    sent: Moment,
}

#[derive(Template)]
#[template(path = "mailbox/message.html")]
struct MessagePage {
    ui: Ui,
    message: Message,
    sent: Moment,
    /// The lines of the text.
    lines: Vec<Line>,
}

/// A line of a message.
struct Line {
    text: String,
    /// Whether the whole line is an address that can be opened.
    is_link: bool,
}

pub(super) fn routes() -> Router<Console> {
    Router::new()
        .route("/console/mailbox", get(list))
        .route("/console/mailbox/{number}", get(show))
        .route("/console/mailbox/{number}/html", get(html))
}

async fn messages(console: &Console, visitor: &Visitor) -> Result<Vec<Message>, PageError> {
    Ok(console.api.read(&visitor.caller, API).await?)
}

async fn find(console: &Console, visitor: &Visitor, number: u64) -> Result<Message, PageError> {
    let found = messages(console, visitor).await?.into_iter().find(|message| message.number == number);
    found.ok_or(PageError::NOT_FOUND)
}

async fn list(State(console): State<Console>, visitor: Visitor) -> Result<Response, PageError> {
    let messages = messages(&console, &visitor).await?;
    let ui = visitor.ui;
    let row = |message: Message| Row {
        sent: ui.at(&message.sent_at),
        beginning: message.text.lines().next().unwrap_or_default().chars().take(120).collect(),
        message,
    };
    let rows = messages.into_iter().map(row).collect();
    Ok(Page(ListPage { rows, ui }).into_response())
}

async fn show(State(console): State<Console>, visitor: Visitor, Path(number): Path<u64>) -> Result<Response, PageError> {
    let message = find(&console, &visitor, number).await?;
    let ui = visitor.ui;
    let line = |text: &str| Line {
        is_link: ["http://", "https://"].iter().any(|scheme| text.starts_with(scheme)) && !text.contains(char::is_whitespace),
        text: text.to_owned(),
    };
    let lines = message.text.lines().map(line).collect();
    let mut response = Page(MessagePage { sent: ui.at(&message.sent_at), lines, message, ui }).into_response();
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY_WITH_FRAMES));
    Ok(response)
}

/// A mail's own HTML, for the frame.
async fn html(State(console): State<Console>, visitor: Visitor, Path(number): Path<u64>) -> Result<Response, PageError> {
    let html = find(&console, &visitor, number).await?.html.ok_or(PageError::NOT_FOUND)?;
    let mut response = Html(html).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(MAIL_POLICY));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("SAMEORIGIN"));
    Ok(response)
}
