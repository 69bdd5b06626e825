//! Challenges: what a passkey signs, so that an answer is one to this service, for this purpose and of now.
//!
//! No row remembers a challenge that was handed out: strangers ask for them. It carries its end and a MAC under the application key. What is
//! kept is the nonce of those that were answered, until they expire.

use chrono::{DateTime, TimeDelta, Utc};

use crate::kernel::crypto::{ApplicationKey, random_bytes};
use crate::kernel::ids::{SessionId, StoreId};
use crate::storefront::passkeys::Flaw;

/// How long a challenge can be answered: what WebAuthn recommends where the user is verified (section 15.1).
pub const LASTS: TimeDelta = TimeDelta::minutes(5);

/// What the MAC is derived for.
const PURPOSE: &str = "challenges of passkeys";

/// What a challenge asks for.
#[derive(Clone, Copy, Debug)]
pub enum Asked {
    /// To show who it is.
    Proof,
    /// A new passkey of the customer of this session.
    Registration(SessionId),
}

/// A challenge.
#[derive(Clone, Copy, Debug)]
pub struct Challenge {
    pub nonce: [u8; 16],
    pub expires_at: DateTime<Utc>,
}

impl Challenge {
    /// A new one.
    pub fn new(now: DateTime<Utc>) -> Self {
        Self { nonce: random_bytes(), expires_at: now + LASTS }
    }

    /// The bytes that the passkey signs: nonce, end and MAC.
    pub fn signed(&self, key: &ApplicationKey, store: StoreId, asked: Asked) -> Vec<u8> {
        let mac = key.mac(PURPOSE, &self.message(store, asked));
        [&self.nonce[..], &self.seconds().to_be_bytes(), mac.as_ref()].concat()
    }

    /// Reads a challenge that was answered. It has to be one of this store, for this purpose, and not too old.
    pub fn accept(bytes: &[u8], key: &ApplicationKey, (store, asked): (StoreId, Asked), now: DateTime<Utc>) -> Result<Self, Flaw> {
        let (nonce, rest) = bytes.split_first_chunk().ok_or(Flaw::Challenge)?;
        let (seconds, mac) = rest.split_first_chunk().ok_or(Flaw::Challenge)?;
        let expires_at = DateTime::from_timestamp(i64::from_be_bytes(*seconds), 0).ok_or(Flaw::Challenge)?;
        let challenge = Self { nonce: *nonce, expires_at };
        if !key.macs(PURPOSE, &challenge.message(store, asked)).any(|own| own.is(mac)) {
            return Err(Flaw::Challenge);
        }
        if expires_at <= now { Err(Flaw::ChallengeExpired) } else { Ok(challenge) }
    }

    fn seconds(&self) -> i64 {
        self.expires_at.timestamp()
    }

    fn message(&self, store: StoreId, asked: Asked) -> Vec<u8> {
        let purpose = match asked {
            Asked::Proof => format!("{store}:proof:"),
            Asked::Registration(session) => format!("{store}:registration:{session}:"),
        };
        [purpose.as_bytes(), &self.nonce, &self.seconds().to_be_bytes()].concat()
    }
}
