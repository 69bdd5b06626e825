//! The keys that sign the access tokens of a company: ES256 (ECDSA on P-256), which every library of JWTs verifies.
//!
//! They are derived from the application key, so there is nothing to store and nothing to lose, and they are replaced with it: one of the
//! current application key signs, and those of all application keys are published.

use aws_lc_rs::agreement::{self, ECDH_P256};
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use jsonwebtoken::jwk::{Jwk, KeyOperations, PublicKeyUse, ThumbprintHash};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};

use crate::kernel::crypto::ApplicationKey;
use crate::kernel::ids::CompanyId;
use crate::storefront::access_tokens::claims::Claims;

/// What the keys are derived for.
const PURPOSE: &str = "access tokens";
/// The media type of access tokens (RFC 9068), so that nobody takes another JWT for one.
const TYPE: &str = "at+jwt";

/// A key of a company.
pub struct SigningKey {
    private: EncodingKey,
    public: Jwk,
}

/// A key cannot be made or used.
#[derive(Debug, thiserror::Error)]
pub enum SigningError {
    #[error("the key cannot be derived")]
    Underivable,
    #[error(transparent)]
    Jwt(#[from] jsonwebtoken::errors::Error),
}

impl SigningKey {
    /// The key that signs.
    pub fn current(key: &ApplicationKey, company: CompanyId) -> Result<Self, SigningError> {
        Self::of(key.mac(PURPOSE, company.uuid().as_bytes()).as_ref())
    }

    /// The keys of all application keys, the one that signs first.
    pub fn all(key: &ApplicationKey, company: CompanyId) -> Result<Vec<Self>, SigningError> {
        key.macs(PURPOSE, company.uuid().as_bytes()).map(|scalar| Self::of(scalar.as_ref())).collect()
    }

    /// All but one in 2^32 of the numbers of 256 bits are a private key. A company with another one has no access tokens.
    fn of(scalar: &[u8]) -> Result<Self, SigningError> {
        let exchange = agreement::PrivateKey::from_private_key(&ECDH_P256, scalar).map_err(|_| SigningError::Underivable)?;
        let point = exchange.compute_public_key().map_err(|_| SigningError::Underivable)?;
        let pair = EcdsaKeyPair::from_private_key_and_public_key(&ECDSA_P256_SHA256_FIXED_SIGNING, scalar, point.as_ref());
        let document = pair.map_err(|_| SigningError::Underivable)?.to_pkcs8v1().map_err(|_| SigningError::Underivable)?;
        let private = EncodingKey::from_ec_der(document.as_ref());
        let mut public = Jwk::from_encoding_key(&private, Algorithm::ES256)?;
        public.common.key_id = Some(public.thumbprint(ThumbprintHash::SHA256)?);
        public.common.public_key_use = Some(PublicKeyUse::Signature);
        public.common.key_operations = Some(vec![KeyOperations::Verify]);
        Ok(Self { private, public })
    }

    /// The public key, named by its thumbprint (RFC 7638).
    pub fn public(self) -> Jwk {
        self.public
    }

    /// The signed token.
    pub fn sign(&self, claims: &Claims) -> Result<String, SigningError> {
        let header = Header { typ: Some(TYPE.to_owned()), kid: self.public.common.key_id.clone(), ..Header::new(Algorithm::ES256) };
        Ok(encode(&header, claims, &self.private)?)
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;
    use uuid::Uuid;

    use super::*;

    fn thumbprints(key: &ApplicationKey, company: CompanyId) -> Vec<String> {
        let keys = SigningKey::all(key, company).unwrap_or_else(|error| panic!("{error}"));
        keys.into_iter().map(|key| key.public().common.key_id.unwrap()).collect()
    }

    #[test]
    fn a_company_keeps_its_key_and_shares_it_with_nobody() {
        let setting = ApplicationKey::generate();
        let key = || ApplicationKey::parse(&setting.expose_secret().to_owned().into()).unwrap();
        let (one, other) = (CompanyId::from(Uuid::from_u128(1)), CompanyId::from(Uuid::from_u128(2)));
        assert_eq!(thumbprints(&key(), one), thumbprints(&key(), one));
        assert_ne!(thumbprints(&key(), one), thumbprints(&key(), other));
        let next = ApplicationKey::parse(&ApplicationKey::generate()).unwrap();
        let [new] = &thumbprints(&next, one)[..] else { panic!("one") };
        let both = next.with_previous(std::slice::from_ref(&setting)).unwrap();
        assert_eq!(thumbprints(&both, one), [new.clone(), thumbprints(&key(), one).remove(0)]);
    }
}
