//! What a page or app sends of an authenticator's answer: the JSON that `toJSON()` of a `PublicKeyCredential` makes (WebAuthn, section 5.1).
//! Members that are not named here are ignored.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::storefront::passkeys::Base64Url;
use crate::storefront::routes::{Body, Sent, body};

body! {
    /// A new credential.
    #[derive(Debug)]
    pub struct NewCredentialBody {
        /// The kind of credential.
        _kind as "type": CredentialKind,
        /// The answer of the authenticator.
        pub(super) response: AttestationBody,
    }
}

body! {
    /// The answer of an authenticator that has made a credential.
    #[derive(Debug)]
    pub struct AttestationBody {
        /// What the browser or app says about the answer.
        pub(super) client_data as "clientDataJSON": Base64Url,
        /// What the authenticator says, with the new public key.
        pub(super) attestation_object as "attestationObject": Base64Url,
    }
}

body! {
    /// A credential that was used.
    #[derive(Debug)]
    pub struct CredentialBody {
        /// What the authenticator calls the credential.
        pub(super) id: Base64Url,
        /// The kind of credential.
        _kind as "type": CredentialKind,
        /// The answer of the authenticator.
        pub(super) response: AssertionBody,
    }
}

body! {
    /// The answer of an authenticator that has used a credential.
    #[derive(Debug)]
    pub struct AssertionBody {
        /// What the browser or app says about the answer.
        pub(super) client_data as "clientDataJSON": Base64Url,
        /// What the authenticator says.
        pub(super) authenticator_data as "authenticatorData": Base64Url,
        /// The signature of both.
        pub(super) signature: Base64Url,
        /// Whom the credential is for: `user.id` of the options that it was made with.
        pub(super) user_handle as "userHandle": Option<Base64Url>,
    }
}

/// The kind of a credential, of which there is one: nobody looks at it once it is read.
#[derive(Clone, Copy, Debug, Deserialize)]
enum CredentialKind {
    #[serde(rename = "public-key")]
    PublicKey,
}

impl Sent for CredentialKind {
    fn schema() -> Value {
        json!({ "const": "public-key" })
    }
}

impl Sent for Base64Url {
    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^[A-Za-z0-9_-]*={0,2}$" })
    }
}

/// A body inside of a body.
macro_rules! sent {
    ($($Body:ident)*) => {
        $(impl Sent for $Body {
            fn schema() -> Value {
                <Self as Body>::schema()
            }
        })*
    };
}

sent!(NewCredentialBody AttestationBody CredentialBody AssertionBody);
