//! The second factor of a customer: an authenticator app (TOTP, RFC 6238), and recovery codes for the day on which it is lost.
//!
//! A code of the app works once, also for requests that arrive at the same moment: the step of the last accepted one is stored by the
//! statement that compares it. Only somebody who has the first factor can guess at all, and a guess is counted before it is compared, at the
//! customer and at the client ([`guess`]). Recovery codes have 120 bits, so they are not counted at the customer, and a lock-out does not
//! refuse them. What was used a moment ago is no wrong guess: a request is sent twice easily.
//!
//! A sign-in whose first factor was right is *pending* until the second one is ([`pending`]).

mod guess;
mod pending;
mod queries;
mod recovery_code;
mod secret;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::kernel::clock::timestamp;
use crate::kernel::database::Connection;
use crate::kernel::ids::CustomerId;
use crate::kernel::openapi::object;

pub use guess::{Counted, GuessRefusal, count_guess};
pub use pending::{
    Handle, NewPending, PendingSignIn, Wait, app_of, consume_pending, find_pending, forget_pending, insert_pending, is_pending,
    sweep_pending,
};
pub use queries::{
    RecoveryCodeState, enable, find_enabled_secret, find_lockout, find_offered_secret, find_recovery_code, find_second_factor,
    forget_guess, forget_wrong_codes, has_second_factor, offer_secret, replace_recovery_codes, sweep_offers, use_recovery_code, use_step,
};
pub use recovery_code::{COUNT as RECOVERY_CODES, RecoveryCode};
pub use secret::{SEALED, open, seal};

/// The second factor of a customer, as it is shown. Never what it consists of.
#[derive(Debug)]
pub struct SecondFactor {
    pub enabled_at: DateTime<Utc>,
    /// Recovery codes that were not used yet.
    pub recovery_codes_left: i64,
}

impl SecondFactor {
    pub fn present(&self) -> Value {
        json!({ "method": "totp", "enabled_at": timestamp(self.enabled_at), "recovery_codes_left": self.recovery_codes_left })
    }
}

/// The JSON schema of [`SecondFactor::present`], or `null` for none.
pub fn schema() -> Value {
    let mut schema = object([
        ("method", json!({ "const": "totp" })),
        ("enabled_at", json!({ "type": "string", "format": "date-time" })),
        ("recovery_codes_left", json!({ "type": "integer", "minimum": 0, "maximum": RECOVERY_CODES })),
    ]);
    schema["type"] = json!(["object", "null"]);
    schema
}

/// The second factor of a customer as responses show it: `null` if there is none.
pub async fn show(conn: &mut Connection, customer: CustomerId) -> Result<Value, sqlx::Error> {
    Ok(find_second_factor(conn, customer).await?.map_or(Value::Null, |factor| factor.present()))
}

/// Removes the second factor of a customer, with what waits for it. Returns whether there was one.
pub async fn forget(conn: &mut Connection, customer: CustomerId) -> Result<bool, sqlx::Error> {
    forget_pending(conn, customer).await?;
    queries::delete_recovery_codes(conn, customer).await?;
    queries::delete_authenticator(conn, customer).await
}
