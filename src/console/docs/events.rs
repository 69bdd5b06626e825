//! The events that subscribers receive: what each means, the members of its data, and a sample.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};

use crate::console::Console;
use crate::console::docs::frame::Frame;
use crate::console::docs::reader::Reader;
use crate::console::docs::row::{Row, rows};
use crate::console::docs::words::Words;
use crate::console::shell::{Page, PageError, Ui};
use crate::handbook::{EventEntry, EventGroup};

#[derive(Template)]
#[template(path = "docs/events.html")]
struct EventsPage<'a> {
    ui: Ui,
    frame: Frame,
    groups: &'a [EventGroup],
}

#[derive(Template)]
#[template(path = "docs/event_group.html")]
struct GroupPage<'a> {
    ui: Ui,
    frame: Frame,
    group: &'a str,
    events: Vec<Told<'a>>,
}

struct Told<'a> {
    name: &'a str,
    meaning: Words,
    rows: Vec<Row>,
    /// Whether every member is always there, which is said once then.
    is_complete: bool,
    sample: String,
}

impl<'a> Told<'a> {
    fn of(event: &'a EventEntry) -> Self {
        let (mut rows, is_complete) = (rows(&event.fields), event.fields.iter().all(|field| field.required));
        if is_complete {
            rows.iter_mut().for_each(|row| row.required = false);
        }
        Self { name: &event.name, meaning: Words(event.meaning.clone()), rows, is_complete, sample: format!("{:#}", event.sample) }
    }
}

/// `GET /docs/events`
pub(super) async fn list(State(console): State<Console>, reader: Reader) -> Response {
    let groups = &console.handbook.contents().events;
    Page(EventsPage { ui: reader.ui, frame: reader.frame, groups }).into_response()
}

/// `GET /docs/events/{group}`
pub(super) async fn show(State(console): State<Console>, reader: Reader, Path(group): Path<String>) -> Result<Response, PageError> {
    let found = console.handbook.contents().events.iter().find(|known| known.name == group).ok_or(PageError::NOT_FOUND)?;
    let page = GroupPage { ui: reader.ui, frame: reader.frame, group: &found.name, events: found.events.iter().map(Told::of).collect() };
    Ok(Page(page).into_response())
}
