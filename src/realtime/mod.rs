//! Realtime: what a socket server needs to let customers follow their own orders, and nobody else's (interface 1, rule 10).
//!
//! The socket server is somebody else's program; `docs/realtime.md` wires one up. It shares one key with us ([`key`]), and two things are
//! made under it:
//!
//! * A [`socket_token`] says for fifteen minutes who somebody is. A customer's app fetches it here, keeps it in memory and shows it to
//!   the socket server, which can verify it by itself.
//! * A question ([`question`]): may the holder of this token listen to this channel? [`authorize`] answers it from the orders as they are
//!   now, and says how long the answer holds.
//!
//! A token is not asked after between answers. So what ends a permission (a revoked sign-in, a closed account, an order that is delivered)
//! ends an open subscription when its answer has run out, at most `socket.answer_lifetime` later; a token's own end is never outlived.
//!
//! This part writes nothing. Whoever holds the key can name any customer to the socket server: it is as secret as the application key.

mod authorize;
mod channel;
mod key;
mod question;
mod socket_token;

use std::time::Duration;

use axum::Router;
use axum::extract::FromRef;
use axum::routing::post;
use secrecy::SecretString;
use sqlx::PgPool;

use crate::kernel::clock::Clock;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::settings;
use crate::realtime::key::SocketKey;
use crate::storefront::{self, Storefront};

pub use key::BadSocketKey;

/// `[socket]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// What the socket server knows too; empty where there is none.
    pub key: SecretString,
    /// The `iss` of socket tokens.
    pub issuer: String,
    /// The `aud` of socket tokens.
    pub audience: String,
    /// How long a socket token is valid.
    #[serde(deserialize_with = "settings::seconds")]
    pub lifetime: Duration,
    /// How long the socket server may rely on an answer.
    #[serde(deserialize_with = "settings::seconds")]
    pub answer_lifetime: Duration,
}

/// What the routes work with.
#[derive(Clone, Debug)]
pub struct Realtime {
    pool: PgPool,
    clock: Clock,
    key: Option<SocketKey>,
    settings: Settings,
}

impl Realtime {
    /// Socket authentication by these settings, or none.
    pub fn new(pool: PgPool, clock: Clock, settings: Settings) -> Result<Self, BadSocketKey> {
        Ok(Self { pool, clock, key: SocketKey::parse(&settings.key)?, settings })
    }

    /// The key, or the refusal that tells an app to connect without a token.
    fn key(&self) -> Result<&SocketKey, Problem> {
        self.key.as_ref().ok_or_else(|| ProblemCode::SocketNotConfigured.into())
    }
}

/// The question of the socket server.
pub fn routes<S>() -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    Realtime: FromRef<S>,
{
    Router::new().route("/socket/authorize", post(authorize::authorize))
}

/// The route of customers, for the storefront's door.
pub fn storefront_routes<S>() -> storefront::Routes<S>
where
    S: Clone + Send + Sync + 'static,
    Realtime: FromRef<S>,
    Storefront: FromRef<S>,
{
    let told = storefront::told("Give the app a token for the socket server.", socket_token::schema());
    let told = told.refused(&[ProblemCode::SocketNotConfigured]);
    storefront::Routes::none().post("/customers/socket-token", told, socket_token::socket_token)
}
