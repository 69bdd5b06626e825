//! `POST /socket/authorize`: whether somebody may listen to a channel, answered from what is so now.

use axum::Json as Answer;
use axum::extract::State;
use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;
use sqlx::PgConnection;

use crate::fleet::orders::{self, Carrier};
use crate::kernel::problem::Problem;
use crate::realtime::channel::Channel;
use crate::realtime::question::Question;
use crate::realtime::socket_token::{Holder, TokenRefusal};
use crate::realtime::{Realtime, Settings};
use crate::storefront;

/// The answer to a question.
#[derive(Debug, Serialize)]
pub(super) struct Decision {
    allow: bool,
    /// Seconds the answer holds; then it has to be asked for again.
    ttl: u64,
    reason: Reason,
}

/// Why, in a closed list that the socket server may log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Reason {
    /// The channel is the customer's own.
    OwnCustomer,
    /// The order is the customer's own.
    OwnOrder,
    /// The driver or vehicle serves an active order of the customer.
    ServesOwnOrder,
    /// No customer is let into such a channel.
    ChannelUnknown,
    /// It is somebody else's, or nobody's.
    NotOwn,
    /// The token was not made here, or not for this.
    TokenInvalid,
    /// The token is over.
    TokenExpired,
    /// The sign-in was revoked, or the account closed.
    SignedOut,
}

/// `POST /socket/authorize`
pub(super) async fn authorize(State(realtime): State<Realtime>, question: Question) -> Result<Answer<Decision>, Problem> {
    let now = realtime.clock.now();
    let decision = match Holder::of(&question.token, realtime.key()?, &realtime.settings, now) {
        Ok(holder) => {
            let judged = judge(&mut *realtime.pool.acquire().await?, &holder, &question.channel, now).await?;
            Decision::new(judged, &holder, &realtime.settings, now)
        }
        Err(TokenRefusal::Invalid) => Decision::refused(Reason::TokenInvalid),
        Err(TokenRefusal::Expired) => Decision::refused(Reason::TokenExpired),
    };
    Ok(Answer(decision))
}

/// `Ok` with why they may, `Err` with why they may not.
async fn judge(conn: &mut PgConnection, holder: &Holder, channel: &str, now: DateTime<Utc>) -> Result<Result<Reason, Reason>, sqlx::Error> {
    let Ok(channel) = channel.parse() else { return Ok(Err(Reason::ChannelUnknown)) };
    let Holder { customer, company, sign_in, .. } = *holder;
    if !storefront::is_signed_in(conn, customer, sign_in, now).await? {
        return Ok(Err(Reason::SignedOut));
    }
    let (is_own, reason) = match channel {
        Channel::Customer(id) => (id == customer, Reason::OwnCustomer),
        Channel::Order(id) => (orders::is_order_of(conn, company, customer, id).await?, Reason::OwnOrder),
        Channel::Driver(id) => (orders::is_served_by(conn, company, customer, Carrier::Driver(id)).await?, Reason::ServesOwnOrder),
        Channel::Vehicle(id) => (orders::is_served_by(conn, company, customer, Carrier::Vehicle(id)).await?, Reason::ServesOwnOrder),
    };
    Ok(if is_own { Ok(reason) } else { Err(Reason::NotOwn) })
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

/// Whole seconds, never past the token's end.
fn time_to_live(settings: &Settings, left: TimeDelta) -> u64 {
    left.to_std().unwrap_or_default().min(settings.answer_lifetime).as_secs()
}
