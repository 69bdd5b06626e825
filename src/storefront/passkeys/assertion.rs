//! Verifying a proof with a passkey (WebAuthn, section 7.2).

use crate::storefront::passkeys::authenticator_data::AuthenticatorData;
use crate::storefront::passkeys::public_key::PublicKey;
use crate::storefront::passkeys::{ClientData, Flaw, KnownPasskey};
use crate::storefront::stores::RelyingParty;

/// What a proof has shown of the passkey.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// The signature counter.
    pub counter: u32,
    /// Whether it may be on several devices.
    pub backup_eligible: bool,
    /// Whether it is on several devices.
    pub backed_up: bool,
}

/// Verifies a proof with a passkey. The signature comes before what it is about, so that nobody else learns of that.
///
/// Whether it can be backed up should never change, says the specification, and does: where a manager of passkeys begins to synchronize. The key
/// has signed what it is now, so a changed flag is noted and keeps nobody out.
pub fn verify_assertion(
    client_data: &ClientData,
    relying_party: &RelyingParty,
    passkey: &KnownPasskey,
    (authenticator_data, signature): (&[u8], &[u8]),
) -> Result<Seen, Flaw> {
    let signed = [authenticator_data, &client_data.hash[..]].concat();
    PublicKey::of_cose(&passkey.public_key)?.verify(&signed, signature)?;
    let AuthenticatorData { counter, backup_eligible, backed_up, .. } = AuthenticatorData::read(authenticator_data, &relying_party.domain)?;
    // 0 on both sides: the authenticator does not count, because it synchronizes.
    if i64::from(counter) <= passkey.counter && (counter != 0 || passkey.counter != 0) {
        return Err(Flaw::Counter);
    }
    Ok(Seen { counter, backup_eligible, backed_up })
}
