//! What surrounds every page: layout, navigation, language, style, and the headers that protect it.

mod assets;
mod headers;
mod instant;
mod language;
mod live;
mod navigation;
mod page;
mod preferences;
mod request_cookies;
mod ui;

use axum::Router;
use axum::middleware;
use axum::routing::get;

use crate::console::Console;

pub use instant::Moment;
#[cfg(test)]
pub use language::Language;
pub use page::{Page, PageError};
pub use preferences::chosen;
pub use request_cookies::cookies;
pub use ui::Ui;

pub(super) fn routes() -> Router<Console> {
    Router::new().route("/console/assets/{name}", get(assets::serve)).route("/console/{*page}", get(page::unknown))
}

/// Adds the streams of live pages, the pages of failures, and the headers that protect pages.
pub(super) fn layer(pages: Router<Console>, console: &Console) -> Router<Console> {
    let complete = middleware::from_fn_with_state(console.clone(), page::complete);
    let follow = middleware::from_fn_with_state(console.clone(), live::follow);
    pages.layer(follow).layer(complete).layer(middleware::map_response(headers::protect))
}
