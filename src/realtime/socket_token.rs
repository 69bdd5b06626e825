//! Socket tokens: short-lived JWTs that prove the identity of a customer. A socket server can verify them by itself.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, TimeDelta, Utc};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, encode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::kernel::clock::timestamp;
use crate::kernel::crypto::random_hex;
use crate::kernel::ids::{CompanyId, CustomerId};
use crate::kernel::openapi::object;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::realtime::key::SocketKey;
use crate::realtime::state::{Realtime, Settings};
use crate::storefront::{SignedInCustomer, TokenId};

/// The validity of a token begins this long before its issue, for socket servers whose clocks are slightly behind.
const CLOCK_SKEW: TimeDelta = TimeDelta::seconds(30);

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Claims {
    iss: String,
    aud: String,
    sub: CustomerId,
    /// The company of the orders that the customer may follow.
    cid: CompanyId,
    /// The session that the token was issued for: the number of the customer token.
    sid: String,
    kind: Kind,
    /// Both spellings of the id in `sub`.
    ids: [String; 2],
    iat: i64,
    nbf: i64,
    exp: i64,
    jti: String,
}

/// The kind of the holder.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Customer,
}

/// The holder of a valid socket token.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holder {
    pub(super) customer: CustomerId,
    pub(super) company: CompanyId,
    pub(super) sign_in: TokenId,
    /// When the token expires.
    pub(super) until: DateTime<Utc>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenRefusal {
    Invalid,
    Expired,
}

pub(super) fn schema() -> Value {
    object([
        ("token", json!({ "type": "string" })),
        (
            "expires_in",
            json!({ "type": "integer", "description": "Seconds until the token expires. Request a new token a minute before." }),
        ),
        ("expires_at", json!({ "type": "string", "format": "date-time" })),
    ])
}

/// `POST customers/socket-token`
pub(super) async fn socket_token(State(realtime): State<Realtime>, caller: SignedInCustomer) -> Result<Json<Value>, Problem> {
    let claims = Claims::new(&caller, &realtime.settings, realtime.clock.now());
    let token = claims.sign(realtime.key()?)?;
    let expires_at = DateTime::from_timestamp(claims.exp, 0).ok_or(ProblemCode::Internal)?;
    Ok(Json(json!({ "token": token, "expires_in": claims.exp - claims.iat, "expires_at": timestamp(expires_at) })))
}

impl Claims {
    fn new(caller: &SignedInCustomer, settings: &Settings, now: DateTime<Utc>) -> Self {
        let (sub, iat) = (caller.customer_id(), now.timestamp());
        Self {
            iss: settings.issuer.clone(),
            aud: settings.audience.clone(),
            sub,
            cid: caller.company_id(),
            sid: caller.token_id().to_string(),
            kind: Kind::Customer,
            ids: [sub.to_string(), sub.uuid().to_string()],
            iat,
            nbf: iat - CLOCK_SKEW.num_seconds(),
            exp: caller.end_of_token(settings.lifetime, now).timestamp(),
            jti: random_hex::<16>(),
        }
    }

    fn sign(&self, key: &SocketKey) -> Result<String, Problem> {
        encode(&Header::new(Algorithm::HS256), self, &EncodingKey::from_secret(key.bytes())).map_err(|error| {
            tracing::error!(%error, "a socket token could not be signed");
            ProblemCode::Internal.into()
        })
    }
}

impl Holder {
    /// Verifies a token: signed with the shared key, or with one that it replaces, for this issuer and audience, valid already and not
    /// expired.
    pub(super) fn of(token: &str, key: &SocketKey, settings: &Settings, now: DateTime<Utc>) -> Result<Self, TokenRefusal> {
        let mut validation = Validation::new(Algorithm::HS256);
        validation.set_issuer(&[&settings.issuer]);
        validation.set_audience(&[&settings.audience]);
        validation.set_required_spec_claims(&["iss", "aud", "sub", "exp"]);
        // The library reads the system clock. `nbf` and `until` are compared with the service's own clock below.
        validation.validate_exp = false;
        let mut read = key.all().filter_map(|key| decode::<Claims>(token, &DecodingKey::from_secret(key), &validation).ok());
        let claims = read.next().ok_or(TokenRefusal::Invalid)?.claims;
        let until = DateTime::from_timestamp(claims.exp, 0).ok_or(TokenRefusal::Invalid)?;
        let sign_in = claims.sid.parse().map_err(|_| TokenRefusal::Invalid)?;
        if now.timestamp() < claims.nbf {
            return Err(TokenRefusal::Invalid);
        }
        match now < until {
            true => Ok(Self { customer: claims.sub, company: claims.cid, sign_in, until }),
            false => Err(TokenRefusal::Expired),
        }
    }
}
