//! What surrounds every page: layout, navigation, language, style, and the headers that protect it.

mod assets;
mod headers;
mod instant;
mod language;
mod navigation;
mod page;
mod portal_theme;
mod preferences;
mod request_cookies;
mod ui;

use std::sync::Arc;

use axum::Router;
use axum::middleware;

use crate::console::Console;
use crate::console::addresses::PORTAL;
use crate::kernel::routing::get;

pub use headers::{Framing, POLICY_WITH_FRAMES};
pub use instant::Moment;
#[cfg(test)]
pub use language::Language;
pub use page::{Page, PageError, Refused, is_mistake};
pub use preferences::chosen;
pub use request_cookies::cookies;
pub use ui::Ui;

pub(super) fn routes() -> Router<Console> {
    Router::new().route("/console/assets/{name}", get(assets::serve)).route("/console/{*page}", get(page::unknown))
}

/// What the pages of the portal need beside what those of the console have.
pub(super) fn portal_routes() -> Router<Console> {
    Router::new()
        .route(&format!("{PORTAL}/theme/{{name}}"), get(portal_theme::serve_style_sheet))
        .route(&format!("{PORTAL}/{{*page}}"), get(page::unknown))
}

/// Adds the pages of failures, and the headers that protect pages.
pub(super) fn layer(pages: Router<Console>, console: &Console, framing: Arc<Framing>) -> Router<Console> {
    let complete = middleware::from_fn_with_state(console.clone(), page::complete);
    pages.layer(complete).layer(middleware::map_response_with_state(framing, headers::protect))
}
