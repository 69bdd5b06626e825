//! Who asked for a code. Only that client is told how the code stands: strangers would learn from it that somebody has asked for one.
//!
//! The client is known again by its network, its user agent and its store key, or by the *handle* that the answer to the request for the
//! code had, from wherever it is sent. The handle is a MAC over what the client is known by, so that nothing more has to be stored, and who
//! asks again gets the same one.

use secrecy::{ExposeSecret, SecretString};

use crate::kernel::crypto::{ApplicationKey, SecretDigest, sha256};
use crate::kernel::ids::{KeyId, StoreId};
use crate::storefront::guessing::Client;
use crate::storefront::purpose::Purpose;

const PURPOSE: &str = "requests for codes";

/// A client that asks for a code or takes a guess at one.
#[derive(Clone, Copy, Debug)]
pub struct Asker([u8; 32]);

impl Asker {
    /// The client with this store key.
    pub fn new(client: &Client, key: KeyId) -> Self {
        Self(sha256([client.mark.as_slice(), key.uuid().as_bytes()].concat()))
    }

    /// What is stored with the code.
    pub(super) fn digest(&self) -> &[u8] {
        &self.0
    }

    /// Whether this client asked for the code, or has the handle of the one that did.
    pub(super) fn asked(&self, code: &SecretDigest, handle: Option<&SecretString>, of: (&ApplicationKey, &Request<'_>)) -> bool {
        code.is(self.0) | handle.is_some_and(|handle| is_handle(handle, code.as_ref(), of))
    }
}

/// What a code is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    pub store: StoreId,
    pub purpose: Purpose,
    /// The identity that the code is asked for, as a key.
    pub identity: &'a str,
}

impl Request<'_> {
    fn message(&self, asker: &[u8]) -> Vec<u8> {
        [asker, format!("{} {} {}", self.store, self.purpose.as_str(), self.identity).as_bytes()].concat()
    }
}

/// What the answer to a request for a code names the request by.
#[derive(Clone, Debug)]
pub struct Handle(SecretString);

impl Handle {
    pub(super) fn new(key: &ApplicationKey, request: &Request<'_>, asker: &Asker) -> Self {
        Self(hex::encode(key.mac(PURPOSE, &request.message(&asker.0))).into())
    }

    /// The handle in plain text, for the answer.
    pub fn reveal(&self) -> &str {
        self.0.expose_secret()
    }
}

/// Whether a client sent the handle of this asker. It may have sent anything.
fn is_handle(sent: &SecretString, asker: &[u8], (key, request): (&ApplicationKey, &Request<'_>)) -> bool {
    let Ok(sent) = hex::decode(sent.expose_secret()) else { return false };
    key.macs(PURPOSE, &request.message(asker)).any(|mac| mac.is(&sent))
}
