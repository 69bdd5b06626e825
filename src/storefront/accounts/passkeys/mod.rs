//! Passkeys of customers: made in a fresh session ([`registering`]), listed, named and removed ([`own_passkeys`]), a way in ([`signing_in`]),
//! and a proof that makes a session fresh ([`proof`]; `docs/specification/decisions.md`, section 6, Passkeys).
//!
//! A passkey is discoverable, so nobody has to say who they are to sign in with it, and the answer to the request tells nobody who is a
//! customer. Its authenticator has verified the person, with a fingerprint, a face or a number, so it is both factors at once.
//!
//! Who takes an account back, with a new password or from a thief, cannot tell which passkeys are theirs. They are suspended like links to
//! identity providers, and the customer resumes those that they know. What was added since the change that is taken back is removed.
//!
//! [`crate::storefront::passkeys`] verifies and stores.

mod bodies;
mod own_passkeys;
mod proof;
mod registering;
mod signing_in;

use crate::kernel::languages::AcceptedLanguages;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::storefront::customers::Customer;
use crate::storefront::messages::{Notice, Particulars};
use crate::storefront::routes::Routes;
use crate::storefront::sending::notices::{self, Occurrence};
use crate::storefront::state::Storefront;
use crate::storefront::stores::{RelyingParty, Store};

pub use bodies::CredentialBody;
pub use own_passkeys::{passkeys_schema, show_passkeys};
pub use proof::Proof;
pub use signing_in::REFUSALS;

pub fn routes() -> Routes<Storefront> {
    registering::routes().merge(own_passkeys::routes()).merge(signing_in::routes())
}

/// For whom the store takes passkeys, or the refusal if it takes none.
fn relying_party(store: &Store) -> Result<&RelyingParty, Problem> {
    store.passkeys.as_ref().ok_or_else(|| ProblemCode::PasskeysNotConfigured.into())
}

/// Tells the customer what became of the passkey with this name.
async fn tell(
    storefront: &Storefront,
    (customer, store): (&Customer, &Store),
    languages: &AcceptedLanguages,
    (about, name): (Notice, &str),
) {
    let (particulars, at) = (Particulars { code: "", name }, storefront.clock.now());
    notices::tell(storefront, customer, Occurrence { store, languages, about, particulars, at }).await;
}
