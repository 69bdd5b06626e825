//! Passkeys: what an authenticator answers is verified (WebAuthn Level 3, <https://www.w3.org/TR/webauthn-3/>), and the public keys are kept.
//!
//! [`ClientData`] is what a page or app of the store has answered to a [`Challenge`] of this service: whoever holds one has checked both.
//! [`verify_attestation`] (section 7.1) and [`verify_assertion`] (section 7.2) take it, so neither forgets to. CBOR and COSE are read by a
//! library, and signatures verified by the library that TLS uses.
//!
//! An attestation is not asked for: it would say who made the authenticator, which a shop has no use for. So what is signed by a manufacturer
//! is ignored, and what the new key itself has signed is verified.

mod assertion;
mod attestation;
mod authenticator_data;
mod base64url;
mod challenge;
mod client_data;
mod flaw;
mod public_key;
mod queries;

use crate::kernel::database::Connection;
use crate::kernel::ids::CustomerId;
use crate::storefront::stores::Store;

pub use assertion::{Seen, verify_assertion};
pub use attestation::{NewCredential, verify_attestation};
pub use base64url::Base64Url;
pub use challenge::{Asked, Challenge, LASTS};
pub use client_data::{Ceremony, ClientData};
pub use flaw::Flaw;
pub use public_key::ALGORITHMS;
pub use queries::{
    KnownPasskey, OwnPasskey, answer_challenge, count_passkeys, export_passkeys, find_or_make_handle, find_passkey, forget_passkeys,
    has_passkey, insert_passkey, is_answered, list_passkeys, note_use, remove_added_since, remove_passkey, rename_passkey, resume_passkey,
    suspend_passkeys, sweep_challenges,
};

/// Whether the customer can sign in to the store with a passkey.
pub async fn is_way_in(conn: &mut Connection, store: &Store, customer: CustomerId) -> Result<bool, sqlx::Error> {
    match &store.passkeys {
        Some(relying_party) => queries::has_usable(conn, customer, &relying_party.domain).await,
        None => Ok(false),
    }
}
