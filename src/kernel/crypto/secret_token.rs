//! Secrets that a browser or a link carries, and the database knows as digests only.

/// Declares a type for a secret of this many random characters. The lookup of its digest in an index needs no comparison in constant time.
macro_rules! secret_token {
    ($(#[$doc:meta])* $name:ident, $length:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $name(secrecy::SecretString);

        impl $name {
            pub(super) fn generate() -> Self {
                Self($crate::kernel::crypto::random_base62($length).into())
            }

            /// The secret that a request claims to know.
            pub fn claimed(text: &str) -> Self {
                Self(text.into())
            }

            /// The secret in plain text.
            pub fn reveal(&self) -> &str {
                secrecy::ExposeSecret::expose_secret(&self.0)
            }

            /// What is stored of the secret.
            pub fn digest(&self) -> [u8; 32] {
                $crate::kernel::crypto::sha256(self.reveal())
            }
        }
    };
}

pub(crate) use secret_token;
