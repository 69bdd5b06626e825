//! Code that verifies the deliveries of a webhook, in five languages. It is the code of the guide, which a test runs on real deliveries.

use askama::Template;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use serde::Deserialize;

use crate::console::Console;
use crate::console::session::{RecordId, Visitor};
use crate::console::shell::{Page, PageError, Ui};
use crate::console::webhooks::API;

/// The name in the address, the name for people, and the code.
const LANGUAGES: [(&str, &str, &str); 5] = [
    ("javascript", "JavaScript", include_str!("../../../docs/examples/webhooks/verify.mjs")),
    ("python", "Python", include_str!("../../../docs/examples/webhooks/verify.py")),
    ("rust", "Rust", include_str!("../../../docs/examples/webhooks/verify.rs")),
    ("go", "Go", include_str!("../../../docs/examples/webhooks/verify.go")),
    ("php", "PHP", include_str!("../../../docs/examples/webhooks/verify.php")),
];

#[derive(Deserialize)]
struct One {
    webhook: Webhook,
}

/// What the page needs of a webhook.
#[derive(Deserialize)]
struct Webhook {
    id: String,
    url: String,
    signature_format: String,
    previous_secret_until: Option<DateTime<Utc>>,
}

#[derive(Deserialize)]
pub(super) struct Chosen {
    #[serde(default)]
    language: String,
}

#[derive(Template)]
#[template(path = "webhooks/verification.html")]
struct VerificationPage {
    ui: Ui,
    webhook: Webhook,
    languages: [(&'static str, &'static str, &'static str); 5],
    language: &'static str,
    code: &'static str,
}

/// `GET /console/webhooks/{id}/verification`
pub(super) async fn show(
    State(console): State<Console>,
    visitor: Visitor,
    RecordId(id): RecordId,
    Query(Chosen { language }): Query<Chosen>,
) -> Result<Response, PageError> {
    let Visitor { caller, ui, .. } = visitor;
    let One { webhook } = console.api.read(&caller, &format!("{API}/{id}")).await?;
    let (language, _, code) = LANGUAGES.into_iter().find(|(name, ..)| *name == language).unwrap_or(LANGUAGES[0]);
    Ok(Page(VerificationPage { ui, webhook, languages: LANGUAGES, language, code }).into_response())
}
