//! Asks before a webhook is disabled or deleted, with the number of deliveries that are lost.

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use crate::console::Console;
use crate::console::session::{RecordId, Visitor};
use crate::console::shell::{Page, PageError, Ui};
use crate::console::webhooks::API;
use crate::resources::Resource;
use crate::webhooks::Subscription;

#[derive(Deserialize)]
struct One {
    figures: Ending,
}

#[derive(Deserialize)]
struct Ending {
    webhook_id: String,
    url: String,
    /// Deliveries that wait, counted up to a thousand.
    waiting: u64,
}

#[derive(Template)]
#[template(path = "webhooks/ending.html")]
struct EndingPage {
    ui: Ui,
    webhook: Ending,
    deletes: bool,
    /// What is lost, in a sentence.
    loss: String,
}

pub(super) async fn ask_disable(state: State<Console>, id: RecordId, visitor: Visitor) -> Result<Response, PageError> {
    ask(state, id, visitor, false).await
}

pub(super) async fn ask_delete(state: State<Console>, id: RecordId, visitor: Visitor) -> Result<Response, PageError> {
    ask(state, id, visitor, true).await
}

async fn ask(State(console): State<Console>, RecordId(id): RecordId, visitor: Visitor, deletes: bool) -> Result<Response, PageError> {
    let Visitor { caller, ui, .. } = visitor;
    Subscription::require(&caller, Subscription::writing())?;
    let One { figures: webhook } = console.api.read(&caller, &format!("{API}/{id}/figures")).await?;
    let loss = match webhook.waiting {
        0 => ui.t("Nothing waits for it, so no delivery is lost.").to_owned(),
        1 => ui.t("One delivery waits for it. It is cancelled and not sent.").to_owned(),
        few if few < 1_000 => ui.say("{} deliveries wait for it. They are cancelled and not sent.", [few]),
        _ => ui.t("1000 deliveries or more wait for it. They are cancelled and not sent.").to_owned(),
    };
    Ok(Page(EndingPage { ui, webhook, deletes, loss }).into_response())
}
