//! The documentation, for everybody: the API as its routes describe themselves, the events, the problems, and the guides.
//!
//! Nobody has to sign in to read it. For a signed-in operator, the examples have records of their own company. Everything is part of the
//! program, so it is there without a network.
//!
//! # Rooms
//!
//! From top to bottom; a room uses only rooms below it.
//!
//! ```text
//! home  search              where one begins, and what one finds
//! chapter  events           the pages of operations and of events
//! problems  guides          what a problem means and what to do; the pages of the guides
//! reader                    who reads, on which address, in which programming language
//! frame                     what surrounds the pages
//! library                   the guides of `docs`, as HTML
//! row  words                a member of a body; sentences with code in them
//! ```

mod chapter;
mod events;
mod frame;
mod guides;
mod home;
mod library;
mod problems;
mod reader;
mod row;
mod search;
mod words;

use axum::Router;

use crate::console::Console;
use crate::kernel::routing::get;

pub(super) fn routes() -> Router<Console> {
    Router::new()
        .route("/docs", get(home::show))
        .route("/docs/search", search::route())
        .route("/docs/events", get(events::list))
        .route("/docs/events/{group}", get(events::show))
        .route("/docs/problems", get(problems::list))
        .route("/docs/problems/{code}", get(problems::show))
        .route("/docs/guides", get(guides::list))
        .route("/docs/guides/{*name}", get(guides::show))
        .route("/docs/files/{*path}", get(guides::show_file))
        .route("/docs/images/{name}", get(guides::show_image))
        .route("/docs/{section}", get(home::section))
        .route("/docs/{section}/{*chapter}", get(chapter::show))
}
