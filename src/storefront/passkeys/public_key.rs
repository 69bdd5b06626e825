//! The public key of a passkey: a COSE_Key (RFC 9052, section 7) of an algorithm that was asked for.

use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1, ED25519, ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents};
use coset::iana::{self, EnumI64};
use coset::{Algorithm, CborSerializable, CoseKey, KeyType, Label};

use crate::storefront::passkeys::Flaw;

/// The algorithms that are asked for, the preferred one first: EdDSA, ES256, RS256 (the COSE registry of IANA).
pub const ALGORITHMS: [i64; 3] = [-8, -7, -257];

/// A public key.
#[derive(Debug)]
pub(super) struct PublicKey {
    algorithm: iana::Algorithm,
    key: ParsedPublicKey,
}

impl PublicKey {
    pub(super) fn of_cose(bytes: &[u8]) -> Result<Self, Flaw> {
        let cose = CoseKey::from_slice(bytes).map_err(|_| Flaw::PublicKey)?;
        let (Some(Algorithm::Assigned(algorithm)), KeyType::Assigned(kind)) = (&cose.alg, &cose.kty) else { return Err(Flaw::PublicKey) };
        let key = match (algorithm, kind) {
            (iana::Algorithm::ES256, iana::KeyType::EC2) => {
                require(&cose, iana::Ec2KeyParameter::Crv, iana::EllipticCurve::P_256)?;
                let (x, y) = (bytes_of(&cose, iana::Ec2KeyParameter::X)?, bytes_of(&cose, iana::Ec2KeyParameter::Y)?);
                // SEC 1, section 2.3.3: an uncompressed point.
                ParsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, [&[4], x, y].concat())
            }
            (iana::Algorithm::EdDSA, iana::KeyType::OKP) => {
                require(&cose, iana::OkpKeyParameter::Crv, iana::EllipticCurve::Ed25519)?;
                ParsedPublicKey::new(&ED25519, bytes_of(&cose, iana::OkpKeyParameter::X)?)
            }
            (iana::Algorithm::RS256, iana::KeyType::RSA) => {
                let (n, e) = (bytes_of(&cose, iana::RsaKeyParameter::N)?, bytes_of(&cose, iana::RsaKeyParameter::E)?);
                RsaPublicKeyComponents { n, e }.to_parsed_public_key(&RSA_PKCS1_2048_8192_SHA256)
            }
            _ => return Err(Flaw::PublicKey),
        };
        Ok(Self { algorithm: *algorithm, key: key.map_err(|_| Flaw::PublicKey)? })
    }

    /// The number of the algorithm.
    pub(super) fn algorithm(&self) -> i64 {
        self.algorithm.to_i64()
    }

    pub(super) fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), Flaw> {
        self.key.verify_sig(message, signature).map_err(|_| Flaw::Signature)
    }
}

fn bytes_of(cose: &CoseKey, parameter: impl EnumI64) -> Result<&[u8], Flaw> {
    let label = Label::Int(parameter.to_i64());
    let found = cose.params.iter().find(|(name, _)| *name == label).and_then(|(_, value)| value.as_bytes());
    found.map(Vec::as_slice).ok_or(Flaw::PublicKey)
}

/// Requires a parameter to have this value.
fn require(cose: &CoseKey, parameter: impl EnumI64, expected: impl EnumI64) -> Result<(), Flaw> {
    let label = Label::Int(parameter.to_i64());
    let found = cose.params.iter().find(|(name, _)| *name == label).and_then(|(_, value)| value.as_integer());
    if found == Some(expected.to_i64().into()) { Ok(()) } else { Err(Flaw::PublicKey) }
}
