//! Verification of the identity tokens of one provider: its keys, its issuers and its apps.

use jsonwebtoken::decode_header;
use reqwest::Client;
use secrecy::{ExposeSecret, SecretString};

use crate::contact::EmailAddress;
use crate::kernel::clock::Clock;
use crate::kernel::crypto::sha256;
use crate::kernel::lifecycle::Lifecycle;
use crate::providers::identity::oidc::claims::{Claims, latest_expiry};
use crate::providers::identity::oidc::jwks::Jwks;
use crate::providers::identity::oidc::settings::TokenRules;
use crate::providers::identity::outgoing::NoAnswer;
use crate::providers::identity::{Flaw, PresentedToken, Provider, Subject, VerifiedIdentity, VerifyError};

/// Verifies the identity tokens of one provider.
#[derive(Clone, Debug)]
pub(in crate::providers::identity) struct IdentityTokens {
    keys: Jwks,
    issuers: Vec<String>,
    apps: Vec<String>,
    /// The claims that vouch for the address.
    vouching: Vec<String>,
    clock: Clock,
    client: Client,
}

impl IdentityTokens {
    pub(in crate::providers::identity) fn new(rules: &TokenRules, client: Client, clock: &Clock, lifecycle: &Lifecycle) -> Self {
        let keys = Jwks::new(rules.jwks_url.clone(), client.clone(), clock.clone(), lifecycle.clone());
        let (issuers, apps, vouching) = (rules.issuers.clone(), rules.apps.clone(), rules.vouching.clone());
        Self { keys, issuers, apps, vouching, clock: clock.clone(), client }
    }

    /// The same, with the keys of `other`: they are fetched and kept once for both.
    pub(super) fn with_keys_of(self, other: &Self) -> Self {
        Self { keys: other.keys.clone(), ..self }
    }

    /// The same for tokens of one app. Its keys are kept once for all apps.
    pub(in crate::providers::identity) fn for_app(&self, app: &str) -> Self {
        Self { apps: vec![app.to_owned()], ..self.clone() }
    }

    /// Verifies a token that is the only proof, and returns whom it is about: the person and the nonce that the app names, if it does.
    pub(in crate::providers::identity) async fn identify(
        &self,
        provider: Provider,
        token: &SecretString,
        (user_id, nonce): (Option<&str>, Option<&str>),
    ) -> Result<VerifiedIdentity, VerifyError> {
        let claims = self.verify(token).await?;
        claims.compare(user_id, nonce)?;
        Ok(self.identity(provider, token, claims)?)
    }

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

    pub(super) fn identity(&self, provider: Provider, token: &SecretString, claims: Claims) -> Result<VerifiedIdentity, Flaw> {
        // Without the signature: ECDSA signatures are malleable, so a token has two valid signatures.
        let (signed, _) = token.expose_secret().rsplit_once('.').ok_or(Flaw::Malformed)?;
        Ok(VerifiedIdentity {
            provider,
            subject: Subject::parse(&claims.sub)?,
            email: claims.email.as_deref().and_then(|email| EmailAddress::parse(email).ok()),
            email_is_vouched_for: claims.vouch(&self.vouching),
            name: claims.name,
            token: Some(PresentedToken { digest: sha256(signed), expires_at: latest_expiry(self.clock.now()), code: None }),
            grant: None,
        })
    }

    /// Fetches the provider's keys and returns how many of them can be used.
    pub(in crate::providers::identity) async fn count_keys(&self) -> Result<usize, NoAnswer> {
        self.keys.count().await
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }
}
