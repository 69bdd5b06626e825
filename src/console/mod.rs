//! The console: what operators look at.
//!
//! Pages are HTML that the server writes, with one style sheet and one script of our own; everything works without the script. A page
//! asks the API for its data and its acts, through [`Api`]: the router of the API in this process, with the signed-in operator as the
//! [`Caller`](crate::callers::Caller). So the console can do nothing that the API cannot, and says nothing twice: lists, details and
//! forms of every kind of record are drawn from the declaration of its fields ([`KindDoc`](crate::resources::KindDoc)).
//!
//! # What is guaranteed
//!
//! * Only a signed-in operator sees a page: [`Visitor`](session::Visitor) is the proof.
//! * What changes something is a form ([`PostedForm`](session::PostedForm)) that was sent from a page of this console, by the browser
//!   that it was made for.
//! * No page contains or loads anything of another host, nor a script or style within itself; the policy in `shell/headers.rs` makes the
//!   browser refuse them.
//! * Whatever customers, subscribers and gateways write is escaped by the templates.
//!
//! # Rooms
//!
//! From top to bottom; a room uses only rooms below it.
//!
//! ```text
//! overview                 what needs a person now
//! search                   from an id, an address or a number to its page
//! webhooks                 webhooks and their deliveries
//! events                   one event, and why it did not arrive somewhere
//! records                  lists, details and forms of every kind, drawn from its declaration
//! session                  who is signed in, and which forms are theirs
//! cell                     a value, as people read it
//! shell                    what surrounds every page: layout, navigation, language, style
//! state                    what pages need
//! api      kinds           the API in this process, and the kinds of records
//! addresses                where pages are
//! ```

mod addresses;
mod api;
mod cell;
mod events;
mod kinds;
mod overview;
mod records;
mod search;
mod session;
mod shell;
mod state;
mod webhooks;

use axum::Router;
use axum::response::Redirect;
use axum::routing::get;

use crate::console::addresses::HOME;

pub use api::Api;
pub use state::Console;

/// All pages.
pub fn routes<S: Clone + Send + Sync + 'static>(console: Console) -> Router<S> {
    let pages = Router::new()
        .route("/", get(async || Redirect::to(HOME)))
        .merge(overview::routes())
        .merge(search::routes())
        .merge(webhooks::routes())
        .merge(events::routes())
        .merge(records::routes())
        .merge(session::routes())
        .merge(shell::routes());
    shell::layer(pages, &console).with_state(console)
}
