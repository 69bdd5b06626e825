//! Cryptography: the application key, where what it seals is sent, digests and their comparison, message authentication codes and the signatures
//! made of them, randomness, one-time passwords.

mod application_key;
mod destination;
mod digest;
mod mac;
mod master_key;
mod random;
mod secret_token;
mod standard_webhooks;
mod totp;
mod typed_code;

pub use application_key::{ApplicationKey, CannotOpen, InvalidApplicationKey};
pub use destination::Destination;
pub use digest::{SecretDigest, sha256};
pub use mac::{hmac_sha1, hmac_sha256, hmac_sha384, hmac_sha512};
pub use master_key::Fingerprint;
pub use random::{random_base62, random_bytes, random_digits, random_hex};
pub(crate) use secret_token::secret_token;
pub use standard_webhooks::{standard_key, standard_secret, standard_signature};
pub use totp::TotpSecret;
pub use typed_code::{TypedCode, six_digits};
