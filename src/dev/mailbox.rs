//! The mailbox of development: the texts and mails that would have been sent, as JSON.

use axum::extract::{FromRef, State};
use axum::{Json, Router};
use serde_json::{Value, json};

use crate::kernel::routing::get;
use crate::providers::mailbox::Mailbox;

/// `GET /dev/mailbox`
pub fn routes<S>() -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    Mailbox: FromRef<S>,
{
    Router::new().route("/dev/mailbox", get(show))
}

/// All texts and mails, newest first.
async fn show(State(mailbox): State<Mailbox>) -> Json<Value> {
    Json(json!(mailbox.messages()))
}
