//! What the stores of one company offer: its own provider of a name, else that of the deployment.

use std::sync::Arc;

use crate::providers::RouteName;
use crate::providers::identity::{IdentityProviders, IdpC, Listed, OwnProvider, Provider, VerifyError};

/// Seconds after which a retry is recommended if a provider cannot be used: somebody has to mend it.
const RETRY_AFTER_SECONDS: u64 = 60;

/// The providers of a company.
#[derive(Debug)]
pub struct ProvidersOfCompany {
    own: Vec<Arc<Offer>>,
    deployment: Arc<IdentityProviders>,
}

/// A provider of the company's own.
#[derive(Debug)]
pub(super) struct Offer {
    pub(super) name: String,
    pub(super) offered: Offered,
}

#[derive(Debug)]
pub(super) enum Offered {
    Active(OwnProvider),
    /// The company offers no provider of this name, not even that of the deployment.
    Inactive,
    Unusable,
}

impl Offer {
    fn provider(&self) -> Result<&OwnProvider, VerifyError> {
        match &self.offered {
            Offered::Active(provider) => Ok(provider),
            Offered::Inactive => Err(VerifyError::NotConfigured),
            Offered::Unusable => Err(VerifyError::Unavailable { seconds: RETRY_AFTER_SECONDS }),
        }
    }
}

impl ProvidersOfCompany {
    pub(super) fn new(own: Vec<Arc<Offer>>, deployment: Arc<IdentityProviders>) -> Self {
        Self { own, deployment }
    }

    fn own(&self, name: &str) -> Option<&Offer> {
        self.own.iter().find(|offer| offer.name == name).map(|offer| &**offer)
    }

    /// The provider in the place of one that the deployment lists.
    pub fn in_place_of(&self, listed: &Arc<Listed>) -> Result<Arc<Listed>, VerifyError> {
        match self.own(&listed.provider.neutral_name()) {
            Some(_) => self.named(&listed.provider.neutral_name()),
            None => Ok(Arc::clone(listed)),
        }
    }

    /// The provider with this word that signs identity tokens: the company's own, or that of the deployment.
    pub fn listed(&self, word: &str) -> Result<Arc<Listed>, VerifyError> {
        match self.deployment.listed.iter().find(|listed| listed.provider.as_str() == word) {
            Some(listed) => self.in_place_of(listed),
            None => self.named(&word.replace('_', "-")),
        }
    }

    /// Whether the provider is one of the company's own.
    pub fn is_own(&self, provider: &Provider) -> bool {
        self.own(&provider.neutral_name()).is_some()
    }

    /// The company's own provider with this name, which signs identity tokens.
    pub fn named(&self, name: &str) -> Result<Arc<Listed>, VerifyError> {
        match self.own(name).ok_or(VerifyError::NotConfigured)?.provider()? {
            OwnProvider::Listed(listed) => Ok(Arc::clone(listed)),
            OwnProvider::IdpC(_) => Err(VerifyError::NotConfigured),
        }
    }

    /// Provider C, with the company's own app or that of the deployment.
    pub fn idp_c(&self) -> Result<&IdpC, VerifyError> {
        match self.own(&Provider::IDP_C.neutral_name()).map(Offer::provider).transpose()? {
            Some(OwnProvider::IdpC(idp_c)) => Ok(idp_c),
            Some(OwnProvider::Listed(_)) => Err(VerifyError::NotConfigured),
            None => self.deployment.idp_c.offered(),
        }
    }

    /// The name of provider C in this deployment.
    pub fn name_of_c(&self) -> &RouteName {
        &self.deployment.idp_c.name
    }

    /// Whether the provider with this word signs customers in.
    pub fn offers(&self, word: &str) -> bool {
        match self.own(&word.replace('_', "-")) {
            Some(offer) => offer.provider().is_ok(),
            None => self.deployment.offers(word),
        }
    }
}
