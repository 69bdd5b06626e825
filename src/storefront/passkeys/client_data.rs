//! What a browser or app says about an answer, which the authenticator signs (WebAuthn, section 5.8.1).

use serde::Deserialize;

use crate::kernel::crypto::sha256;
use crate::storefront::passkeys::{Base64Url, Challenge, Flaw};
use crate::storefront::stores::RelyingParty;

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ceremony {
    /// A new credential.
    Create,
    /// A proof with one that is there.
    Get,
}

/// The client data of an answer to a challenge of this service, from a page or app of the store.
#[derive(Clone, Copy, Debug)]
pub struct ClientData {
    /// SHA-256 of the bytes, which the authenticator signs.
    pub(super) hash: [u8; 32],
    /// The challenge that is answered. The caller marks it as answered.
    pub challenge: Challenge,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Collected {
    r#type: String,
    challenge: Base64Url,
    origin: String,
    #[serde(default)]
    cross_origin: bool,
    top_origin: Option<String>,
}

impl ClientData {
    /// Reads client data and checks it, the challenge by `accept`.
    pub fn read(
        json: &[u8],
        ceremony: Ceremony,
        relying_party: &RelyingParty,
        accept: impl FnOnce(&[u8]) -> Result<Challenge, Flaw>,
    ) -> Result<Self, Flaw> {
        let collected: Collected = serde_json::from_slice(json).map_err(|_| Flaw::ClientData)?;
        let expected = match ceremony {
            Ceremony::Create => "webauthn.create",
            Ceremony::Get => "webauthn.get",
        };
        if collected.r#type != expected {
            return Err(Flaw::Ceremony);
        }
        let challenge = accept(collected.challenge.bytes())?;
        if !relying_party.has_origin(&collected.origin) {
            return Err(Flaw::Origin);
        }
        // A page that shows the shop's in a frame could have the customer confirm what they do not see.
        if collected.cross_origin || collected.top_origin.is_some() {
            return Err(Flaw::CrossOrigin);
        }
        Ok(Self { hash: sha256(json), challenge })
    }
}
