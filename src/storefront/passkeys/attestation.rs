//! Verifying a new passkey (WebAuthn, section 7.1).
//!
//! No statement of the authenticator's manufacturer is required, and one that is sent all the same is ignored. A statement that the new key itself
//! has signed is verified, because that needs no trust in anybody.

use coset::cbor::de::from_reader;
use coset::cbor::value::Value;

use crate::storefront::passkeys::authenticator_data::AuthenticatorData;
use crate::storefront::passkeys::public_key::PublicKey;
use crate::storefront::passkeys::{ClientData, Flaw};
use crate::storefront::stores::RelyingParty;

/// A passkey that an authenticator has made for the store.
#[derive(Debug)]
pub struct NewCredential {
    /// What the authenticator calls it.
    pub id: Vec<u8>,
    /// COSE_Key.
    pub public_key: Vec<u8>,
    pub counter: u32,
    pub backup_eligible: bool,
    pub backed_up: bool,
}

/// Verifies what an authenticator answers that was asked for a new passkey.
pub fn verify_attestation(client_data: &ClientData, relying_party: &RelyingParty, object: &[u8]) -> Result<NewCredential, Flaw> {
    let mut rest = object;
    let object: Value = from_reader(&mut rest).map_err(|_| Flaw::Attestation)?;
    let authenticator_data = member(&object, "authData").and_then(Value::as_bytes).ok_or(Flaw::Attestation)?;
    let (format, statement) = (member(&object, "fmt").and_then(Value::as_text), member(&object, "attStmt").ok_or(Flaw::Attestation)?);
    let data = AuthenticatorData::read(authenticator_data, &relying_party.domain)?;
    let credential = data.credential.ok_or(Flaw::Attestation)?;
    let key = PublicKey::of_cose(&credential.public_key)?;
    if format == Some("packed") && member(statement, "x5c").is_none() {
        verify_by_key_itself(&key, statement, &[authenticator_data, &client_data.hash[..]].concat())?;
    }
    let (counter, backup_eligible, backed_up) = (data.counter, data.backup_eligible, data.backed_up);
    Ok(NewCredential { id: credential.id, public_key: credential.public_key, counter, backup_eligible, backed_up })
}

/// A browser may leave what the new key has signed itself, which says nothing of a manufacturer (sections 5.1.3 and 8.2).
fn verify_by_key_itself(key: &PublicKey, statement: &Value, message: &[u8]) -> Result<(), Flaw> {
    let algorithm = member(statement, "alg").and_then(Value::as_integer);
    if algorithm != Some(key.algorithm().into()) {
        return Err(Flaw::Attestation);
    }
    key.verify(message, member(statement, "sig").and_then(Value::as_bytes).ok_or(Flaw::Attestation)?)
}

/// The member of a CBOR map with this name.
fn member<'a>(map: &'a Value, name: &str) -> Option<&'a Value> {
    map.as_map()?.iter().find(|(key, _)| key.as_text() == Some(name)).map(|(_, value)| value)
}
