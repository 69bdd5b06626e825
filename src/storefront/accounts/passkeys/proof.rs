//! A proof with a passkey, to sign in or to make a session fresh. Both answer the same challenge: whoever has the passkey may do either.

use chrono::{DateTime, Utc};

use crate::kernel::database::Connection;
use crate::kernel::ids::{CustomerId, StoreId};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::storefront::accounts::passkeys::{CredentialBody, relying_party};
use crate::storefront::passkeys::{self, Asked, Ceremony, Challenge, ClientData, Flaw, KnownPasskey, Seen};
use crate::storefront::state::Storefront;
use crate::storefront::stores::Store;

/// A proof that is right, unless its challenge has been answered before.
#[derive(Debug)]
pub struct Proof {
    store: StoreId,
    challenge: Challenge,
    passkey: KnownPasskey,
    seen: Seen,
}

impl Proof {
    /// Verifies what an authenticator has answered. Nothing is written, so a wrong proof costs the service a look-up.
    pub async fn verify(storefront: &Storefront, store: &Store, credential: &CredentialBody) -> Result<Self, Problem> {
        let relying_party = relying_party(store)?;
        let (key, now) = (&storefront.application_key, storefront.clock.now());
        let accept = |bytes: &[u8]| Challenge::accept(bytes, key, (store.id, Asked::Proof), now);
        let response = &credential.response;
        let client_data = ClientData::read(response.client_data.bytes(), Ceremony::Get, relying_party, accept)?;
        let handle = response.user_handle.as_ref().ok_or(Flaw::Unknown)?;
        let found = {
            let mut conn = storefront.pool.acquire().await?;
            passkeys::find_passkey(&mut conn, store.id, credential.id.bytes(), handle.bytes()).await?
        };
        let passkey = found.ok_or(Flaw::Unknown)?;
        let signed = (response.authenticator_data.bytes(), response.signature.bytes());
        let seen = match passkeys::verify_assertion(&client_data, relying_party, &passkey, signed) {
            Err(Flaw::Counter) => {
                // The same answer again has the counter that was noted at the first time, and is no copy.
                let mut conn = storefront.pool.acquire().await?;
                let is_repeated = passkeys::is_answered(&mut conn, store.id, &client_data.challenge).await?;
                return Err(if is_repeated { Flaw::ChallengeAnswered } else { Flaw::Counter }.into());
            }
            seen => seen?,
        };
        if passkey.is_suspended {
            return Err(ProblemCode::PasskeySuspended.into());
        }
        Ok(Self { store: store.id, challenge: client_data.challenge, passkey, seen })
    }

    /// Whose passkey it is.
    pub fn customer(&self) -> CustomerId {
        self.passkey.customer
    }

    /// Uses the challenge up, before the account is locked. Waits for a parallel proof that answers the same one.
    pub async fn answer(&self, conn: &mut Connection) -> Result<(), Problem> {
        Ok(passkeys::answer_challenge(conn, self.store, &self.challenge).await??)
    }

    /// Notes the use of the passkey, after the account is locked. Refuses if it has been removed or suspended since it was looked up.
    pub async fn note(&self, conn: &mut Connection, now: DateTime<Utc>) -> Result<(), Problem> {
        if passkeys::note_use(conn, self.passkey.id, self.seen, now).await? { Ok(()) } else { Err(Flaw::Unknown.into()) }
    }
}
