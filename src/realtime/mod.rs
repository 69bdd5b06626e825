//! Realtime: lets customers see their own orders, and follow them, and no others, on a socket server (interface 1, rule 10).
//!
//! An order is a customer's if it names the customer, or if it was placed without an account and has a contact that the customer has proven
//! ([`Follower`](crate::fleet::orders::Follower)). [`own_orders`] lists them.
//!
//! The socket server is a separate program. `docs/realtime.md` describes its setup. It shares one key with Portico ([`key`]),
//! which signs two things:
//!
//! * A [`socket_token`] proves the identity of a customer for `socket.lifetime` (15 minutes by default), and not longer than the session
//!   lasts. The app fetches it, keeps it in memory and presents it to the socket server, which verifies it without a request to Portico.
//! * An authorization request ([`question`]) asks whether the holder of a token may subscribe to a channel. [`authorize`] decides
//!   it from the current state of the orders and returns a TTL for the decision.
//!
//! Guaranteed: a subscription ends at most `socket.answer_lifetime` after the permission is lost (the session is revoked, the
//! account is closed, the order is delivered), and never later than the token expires.
//!
//! Not guaranteed: a subscription does not end at once. The socket server asks again only when the TTL of the decision has passed.
//!
//! # Rooms
//!
//! From top to bottom; a room uses only rooms below it.
//!
//! ```text
//! authorize  own_orders     decides whether a subscription is allowed; lists the customer's orders
//! question  socket_token    what the socket server and the app present
//! state                     the key and the settings, as handlers extract them
//! key  channel              the two things that have a form of their own
//! ```
//!
//! This module writes nothing to the database. The holder of the key can impersonate any customer at the socket server, so it is
//! as secret as the application key.

mod authorize;
mod channel;
mod key;
mod own_orders;
mod question;
mod socket_token;
mod state;

use axum::Router;
use axum::extract::FromRef;
use axum::http::Method;

use crate::kernel::openapi::Description;
use crate::kernel::problem::ProblemCode;
use crate::kernel::routing::post;
use crate::storefront::{self, Storefront};

pub use key::{InvalidSocketKey, SocketKey};
pub use state::{Realtime, Settings};

/// The route that the socket server calls.
pub fn routes<S>() -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    Realtime: FromRef<S>,
{
    Router::new().route("/socket/authorize", post(authorize::authorize))
}

/// The description of the route that the socket server calls.
pub fn description() -> Description {
    let mut description = Description::default();
    description.route(Method::POST, "socket server", "/socket/authorize".to_owned(), authorize::doc());
    description
}

/// The routes that customers call, to be mounted with the routes of the storefront.
pub fn storefront_routes<S>() -> storefront::Routes<S>
where
    S: Clone + Send + Sync + 'static,
    Realtime: FromRef<S>,
    Storefront: FromRef<S>,
{
    let doc = storefront::describe("Issue a token for the socket server.", socket_token::schema());
    let doc = doc.refusing(&[ProblemCode::SocketNotConfigured]);
    storefront::Routes::none().get("/customers/orders", own_orders::doc(), own_orders::list).post(
        "/customers/socket-token",
        doc,
        socket_token::socket_token,
    )
}
