//! Where one begins, and the pages of the sections.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};

use crate::console::Console;
use crate::console::docs::frame::Frame;
use crate::console::docs::guides;
use crate::console::docs::reader::Reader;
use crate::console::shell::{Page, PageError, Ui};
use crate::handbook::Section;

#[derive(Template)]
#[template(path = "docs/home.html")]
struct HomePage<'a> {
    ui: Ui,
    frame: Frame,
    base: String,
    sections: &'a [Section],
    guides: Vec<(&'static str, String)>,
    operations: usize,
    events: usize,
}

#[derive(Template)]
#[template(path = "docs/section.html")]
struct SectionPage<'a> {
    ui: Ui,
    frame: Frame,
    section: &'a Section,
}

/// `GET /docs`
pub(super) async fn show(State(console): State<Console>, reader: Reader) -> Response {
    let contents = console.handbook.contents();
    let page = HomePage {
        ui: reader.ui,
        frame: reader.frame,
        base: reader.base,
        sections: &contents.sections,
        guides: guides::first_ones(),
        operations: contents.operations().count(),
        events: contents.events.iter().map(|group| group.events.len()).sum(),
    };
    Page(page).into_response()
}

/// `GET /docs/{section}`
pub(super) async fn section(State(console): State<Console>, reader: Reader, Path(name): Path<String>) -> Result<Response, PageError> {
    let found = console.handbook.contents().sections.iter().find(|section| section.name == name);
    let section = found.ok_or(PageError::NOT_FOUND)?;
    Ok(Page(SectionPage { ui: reader.ui, frame: reader.frame, section }).into_response())
}
