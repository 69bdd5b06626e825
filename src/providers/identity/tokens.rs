//! Verification of the identity tokens of one provider: its keys, its issuers and its apps.

use std::time::Duration;

use jsonwebtoken::decode_header;
use reqwest::Client;
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use crate::contact::EmailAddress;
use crate::kernel::clock::Clock;
use crate::kernel::crypto::sha256;
use crate::kernel::lifecycle::Lifecycle;
use crate::providers::identity::claims::{Claims, Flaw, Subject, latest_expiry};
use crate::providers::identity::jwks::Jwks;
use crate::providers::identity::outgoing::{NoAnswer, client};
use crate::providers::identity::{PresentedToken, Provider, SettingsError, VerifiedIdentity, VerifyError};

/// Verifies the identity tokens of one provider.
#[derive(Clone, Debug)]
pub(super) struct IdentityTokens {
    keys: Jwks,
    issuers: Vec<String>,
    apps: Vec<String>,
    clock: Clock,
    client: Client,
}

impl IdentityTokens {
    pub(super) fn new(
        (issuers, apps, jwks_url): (&[String], &[String], Url),
        timeout: Duration,
        clock: &Clock,
        lifecycle: &Lifecycle,
    ) -> Result<Self, SettingsError> {
        let client = client(timeout)?;
        let keys = Jwks::new(jwks_url, client.clone(), clock.clone(), lifecycle.clone());
        Ok(Self { keys, issuers: issuers.to_vec(), apps: apps.to_vec(), clock: clock.clone(), client })
    }

    /// Verifies a token and returns its claims.
    pub(super) async fn verify(&self, token: &SecretString) -> Result<Claims, VerifyError> {
        let token = token.expose_secret();
        let header = decode_header(token).map_err(|_| Flaw::Malformed)?;
        // `crit` lists extensions that must be understood, and none is supported. Keys and key URLs in the header are never used.
        if header.crit.is_some() {
            return Err(Flaw::Malformed.into());
        }
        let key = self.keys.find(&header.kid.ok_or(Flaw::Key)?).await?;
        let claims = key.open(token)?;
        claims.judge(&self.issuers, &self.apps, self.clock.now())?;
        Ok(claims)
    }

    /// The identity that the claims of this token describe.
    pub(super) fn identity(&self, provider: Provider, token: &SecretString, claims: Claims) -> Result<VerifiedIdentity, Flaw> {
        // Without the signature: ECDSA signatures are malleable, so a token has two valid signatures.
        let (signed, _) = token.expose_secret().rsplit_once('.').ok_or(Flaw::Malformed)?;
        Ok(VerifiedIdentity {
            provider,
            subject: Subject::parse(&claims.sub)?,
            email: claims.email.as_deref().and_then(|email| EmailAddress::parse(email).ok()),
            email_is_vouched_for: claims.email_verified,
            name: claims.name,
            token: Some(PresentedToken { digest: sha256(signed), expires_at: latest_expiry(self.clock.now()) }),
        })
    }

    /// Fetches the provider's keys and returns how many of them can be used.
    pub(super) async fn count_keys(&self) -> Result<usize, NoAnswer> {
        self.keys.count().await
    }

    /// The HTTP client for requests to the provider.
    pub(super) fn client(&self) -> &Client {
        &self.client
    }
}
