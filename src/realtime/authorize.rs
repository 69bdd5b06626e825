//! `POST /socket/authorize`: decides from the current state whether the holder of a token may subscribe to a channel.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;
use serde_json::json;

use crate::companies::{self, Standing};
use crate::fleet::orders::{Carrier, Follower};
use crate::kernel::database::Connection;
use crate::kernel::openapi::{OperationDoc, object};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::realtime::channel::Channel;
use crate::realtime::question::Question;
use crate::realtime::socket_token::{Holder, TokenRefusal};
use crate::realtime::state::{Realtime, Settings};
use crate::storefront::{self, ProvenContacts};

#[derive(Debug, Serialize)]
pub(super) struct Decision {
    allow: bool,
    /// The number of seconds for which the decision is valid. The socket server must ask again afterwards.
    ttl: u64,
    reason: Reason,
}

/// The reason of the decision, from a closed list. The socket server may log it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Reason {
    /// The channel is the customer's own.
    OwnCustomer,
    /// The order is the customer's own.
    OwnOrder,
    /// The driver or vehicle serves an active order of the customer.
    ServesOwnOrder,
    /// Customers may not subscribe to such a channel.
    ChannelUnknown,
    /// The channel belongs to another customer or to no record.
    NotOwn,
    /// The token was not issued by this service, or not for the socket server.
    TokenInvalid,
    /// The token is expired.
    TokenExpired,
    /// The session was revoked, the account was closed, or the company is suspended.
    SignedOut,
}

pub(super) fn doc() -> OperationDoc {
    let answer = object([
        ("allow", json!({ "type": "boolean" })),
        ("ttl", json!({ "type": "integer", "minimum": 0, "description": "Seconds for which the decision is valid." })),
        ("reason", json!({ "enum": Reason::ALL })),
    ]);
    let refused = [
        ProblemCode::SocketNotConfigured,
        ProblemCode::SocketSignatureInvalid,
        ProblemCode::CompanyMoving,
        ProblemCode::JsonInvalid,
        ProblemCode::BodyTooLarge,
        ProblemCode::BodyInvalid,
    ];
    OperationDoc::new("Decide whether the holder of a socket token may subscribe to a channel.")
        .identified("post_socket_authorize".to_owned())
        .authenticated_by(&["socket_signature"])
        .taking_header("X-Socket-Timestamp", "The time of the request, in seconds since 1970.")
        .taking_body(Question::schema())
        .answering(StatusCode::OK, answer)
        .refusing(&refused)
}

/// `POST /socket/authorize`
pub(super) async fn authorize(State(realtime): State<Realtime>, question: Question) -> Result<Json<Decision>, Problem> {
    let now = realtime.clock.now();
    let decision = match Holder::of(&question.token, realtime.key()?, &realtime.settings, now) {
        Ok(holder) => {
            let judged = judge(&mut realtime.pool.acquire().await?, &holder, &question.channel, now).await?;
            Decision::new(judged, &holder, &realtime.settings, now)
        }
        Err(TokenRefusal::Invalid) => Decision::refused(Reason::TokenInvalid),
        Err(TokenRefusal::Expired) => Decision::refused(Reason::TokenExpired),
    };
    Ok(Json(decision))
}

/// Returns the reason of the permission as `Ok` or the reason of the refusal as `Err`.
async fn judge(conn: &mut Connection, holder: &Holder, channel: &str, now: DateTime<Utc>) -> Result<Result<Reason, Reason>, Problem> {
    let Ok(channel) = channel.parse() else { return Ok(Err(Reason::ChannelUnknown)) };
    let Holder { customer, company, sign_in, .. } = *holder;
    match companies::standing(conn, company).await? {
        Standing::Open if storefront::is_signed_in(conn, customer, sign_in, now).await? => {}
        Standing::Open | Standing::Suspended | Standing::Gone => return Ok(Err(Reason::SignedOut)),
        moving @ Standing::Moving => moving.must_be_open()?,
    }
    let ProvenContacts { email, phone } = storefront::find_proven_contacts(conn, customer).await?;
    let follower = Follower { company, customer, email, phone };
    let (is_own, reason) = match channel {
        Channel::Customer(id) => (id == customer, Reason::OwnCustomer),
        Channel::Order(id) => (follower.has_order(conn, id).await?, Reason::OwnOrder),
        Channel::Driver(id) => (follower.is_served_by(conn, Carrier::Driver(id)).await?, Reason::ServesOwnOrder),
        Channel::Vehicle(id) => (follower.is_served_by(conn, Carrier::Vehicle(id)).await?, Reason::ServesOwnOrder),
    };
    Ok(if is_own { Ok(reason) } else { Err(Reason::NotOwn) })
}

impl Reason {
    const ALL: [Self; 8] = [
        Self::OwnCustomer,
        Self::OwnOrder,
        Self::ServesOwnOrder,
        Self::ChannelUnknown,
        Self::NotOwn,
        Self::TokenInvalid,
        Self::TokenExpired,
        Self::SignedOut,
    ];
}

impl Decision {
    fn new(judged: Result<Reason, Reason>, holder: &Holder, settings: &Settings, now: DateTime<Utc>) -> Self {
        match judged {
            Ok(reason) => Self { allow: true, ttl: time_to_live(settings, holder.until - now), reason },
            Err(reason) => Self::refused(reason),
        }
    }

    fn refused(reason: Reason) -> Self {
        Self { allow: false, ttl: 0, reason }
    }
}

/// The TTL of a decision in whole seconds. It never exceeds the remaining validity of the token.
fn time_to_live(settings: &Settings, left: TimeDelta) -> u64 {
    left.to_std().unwrap_or_default().min(settings.answer_lifetime).as_secs()
}
