//! The page of texts.

use askama::Template;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use serde::Deserialize;

use crate::callers::{Area, Scope};
use crate::console::Console;
use crate::console::addresses::with_query;
use crate::console::session::Visitor;
use crate::console::shell::{Page, PageError, Ui};
use crate::console::texts::counted::Counted;
use crate::console::texts::{PAUSES, STORES};

#[derive(Default, Deserialize)]
pub(super) struct Shown {
    #[serde(default)]
    period: String,
    #[serde(default)]
    after: String,
}

#[derive(Deserialize)]
struct Stores {
    stores: Vec<Store>,
    meta: Meta,
}

#[derive(Deserialize)]
struct Meta {
    next: Option<String>,
}

/// A store with the rules of its texts.
#[derive(Deserialize)]
pub(super) struct Store {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) texts_paused_at: Option<DateTime<Utc>>,
    pub(super) texts_paused_reason: Option<String>,
    text_countries: Vec<String>,
    seconds_between_texts: i64,
    texts_per_number_and_hour: i64,
    texts_per_number_and_day: i64,
    numbers_per_range: i64,
    numbers_per_address_and_day: i64,
    texts_per_country_and_day: i64,
    texts_per_day: i64,
    texts_reserved_percent: i64,
}

#[derive(Deserialize)]
struct Pauses {
    pauses: Vec<Pause>,
}

/// A pause that the guard began itself.
#[derive(Deserialize)]
struct Pause {
    id: String,
    store: String,
    scope: String,
    name: String,
    texted: i64,
    used: i64,
    paused_at: DateTime<Utc>,
    paused_until: DateTime<Utc>,
}

#[derive(Template)]
#[template(path = "texts/page.html")]
struct TextsPage {
    ui: Ui,
    /// The stores whose texts are paused, at most a hundred.
    paused: Vec<Store>,
    /// What the guard has paused by itself.
    pauses: Vec<Pause>,
    stores: Vec<Store>,
    older: Option<String>,
    newest: Option<String>,
    /// The numbers, for who may see customers.
    counted: Option<Counted>,
    week: bool,
    /// Whether the visitor may pause and resume.
    writable: bool,
}

/// `GET /console/texts`
pub(super) async fn show(State(console): State<Console>, visitor: Visitor, Query(shown): Query<Shown>) -> Result<Response, PageError> {
    let Visitor { caller, ui, .. } = visitor;
    let week = shown.period == "7d";
    let paused: Stores = console.api.read(&caller, &format!("{STORES}?texts_paused=true&limit=100")).await?;
    let Pauses { pauses } = console.api.read(&caller, PAUSES).await?;
    let page = with_query(STORES, [("limit", "25"), ("after", shown.after.as_str())]);
    let Stores { stores, meta } = console.api.read(&caller, &page).await?;
    let period = if week { "7d" } else { "24h" };
    let at = |after: &str| with_query("/console/texts", [("period", shown.period.as_str()), ("after", after)]);
    let page = TextsPage {
        paused: paused.stores,
        pauses,
        stores,
        older: meta.next.map(|next| at(&next)),
        newest: (!shown.after.is_empty()).then(|| at("")),
        counted: Counted::read(&console, &caller, period).await?,
        week,
        writable: caller.grant.allows(Area::Integration, Scope::Write),
        ui,
    };
    Ok(Page(page).into_response())
}
