//! The console: what operators look at; and the portal, in which subscribers look at webhooks of their own.
//!
//! Pages are HTML that the server writes, with one style sheet and one script of our own; everything works without the script. A page
//! asks the API for its data and its acts, through [`Api`]: the router of the API in this process, with the signed-in operator as the
//! [`Caller`](crate::callers::Caller). So the console can do nothing that the API cannot, and says nothing twice: lists, details and
//! forms of every kind of record are drawn from the declaration of its fields ([`KindDoc`](crate::resources::KindDoc)).
//!
//! The pages of webhooks, events and records also stand below `/portal`. There, the [`Caller`](crate::callers::Caller) is restricted to one
//! owner, and the kinds are those with owners: what a page may show is decided by the API alone, here as there.
//!
//! # What is guaranteed
//!
//! * Only a signed-in operator, or in the portal somebody with an open link, sees a page: [`Visitor`](session::Visitor) is the proof. The
//!   documentation alone is for everybody.
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
//! operators                one operator, and their access
//! mailbox                  in development, what would have been sent
//! first_sign_in            in development, a customer without an app
//! customers                one customer: what happened, and what can be done about it
//! payments                 payments, and the callbacks that told of them
//! texts                    what the guard decides about texts, and their pauses
//! requests                 one request: what it changed and published, and where that went
//! events                   one event, and why it did not arrive somewhere
//! records                  lists, details and forms of every kind, drawn from its declaration
//! docs                     the documentation, which everybody may read
//! live                     pages that change while somebody looks at them
//! session                  who is signed in or has opened a link of the portal, and which forms are theirs
//! history                  what happened, in words: events and changes
//! sentence                 a sentence in which every noun is a link
//! cell     charts          a value, as people read it; figures, as charts
//! shell                    what surrounds every page: layout, navigation, language, style
//! state                    what pages need
//! followed                 the pages that are followed: how many, and one copy of each
//! api      kinds           the API in this process, and the kinds of records
//! addresses                where pages are
//! ```

mod addresses;
mod api;
mod cell;
mod charts;
mod customers;
mod docs;
mod events;
mod first_sign_in;
mod followed;
mod history;
mod kinds;
mod live;
mod mailbox;
mod operators;
mod overview;
mod payments;
mod records;
mod requests;
mod search;
mod sentence;
mod session;
mod shell;
mod state;
mod texts;
mod webhooks;

use axum::Router;
use axum::response::Redirect;

use crate::console::addresses::{HOME, PORTAL};
use crate::console::shell::Framing;
use crate::kernel::routing::get;

pub use api::Api;
pub use session::{Cookie, OpenElsewhere};
pub use state::{Console, Parts};

/// All pages.
pub fn routes<S: Clone + Send + Sync + 'static>(console: Console) -> Router<S> {
    let pages = Router::new()
        .route("/", get(async || Redirect::to(HOME)))
        .merge(overview::routes())
        .merge(search::routes())
        .merge(customers::routes())
        .merge(payments::routes())
        .merge(texts::routes())
        .merge(requests::routes())
        .merge(operators::routes())
        .merge(mailbox::routes())
        .merge(first_sign_in::routes())
        .merge(docs::routes())
        .merge(session::routes())
        .merge(shell::routes())
        .nest(HOME, of_both());
    let portal = console.of_portal();
    let framing = Framing::by(portal.portal.frame_ancestors());
    let of_portal = session::portal_routes().merge(shell::portal_routes()).nest(PORTAL, of_both());
    let pages = shell::layer(live::layer(pages, &console), &console, Framing::forbidden()).with_state(console);
    pages.merge(shell::layer(live::layer(of_portal, &portal), &portal, framing).with_state(portal))
}

/// The pages that the console and the portal have in common.
fn of_both() -> Router<Console> {
    webhooks::routes().merge(events::routes()).merge(records::routes())
}
