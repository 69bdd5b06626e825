//! The identity providers of a company in the API for operators.

pub mod test;
mod values;

use std::mem::take;

use crate::audit_trail::ChangedRecord;
use crate::callers::{Area, Caller, Scope};
use crate::companies;
use crate::kernel::error_chain::chain;
use crate::kernel::ids::{CompanyId, IdentityProviderId};
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode};
use crate::kernel::sealed_values::SEND_AGAIN;
use crate::resources::{Editable, Fields, Line, Member, New, PublishesEvents, Record, RecordTransaction, Resource, Unique, count_of};
use crate::storefront::company_providers::{ClientSecret, CompanyProviders, MAX_OF_COMPANY, StoredProvider, Unusable};
use crate::storefront::resources::identity_providers::values::{Apps, Issuers, KeysUrl, MAX_ITEMS, ProviderName};
use crate::webhooks::{EndpointUrl, NoClient};

const FORBIDDEN: &str = "Only public addresses are asked, and none was found for this one.";

crate::fields! {
    /// An identity provider of the company, which its stores offer in place of that of the deployment.
    pub struct IdentityProviderRecord, body IdentityProviderBody {
        /// The name in `login-with-<name>`: that of a provider of the deployment, such as `idp-a`, or another one. Cannot be changed.
        #[searched]
        name: ProviderName,
        /// Whether the stores offer it. If it is inactive, they do not offer that of the deployment either.
        #[filtered]
        status: ProviderStatus,
        /// The accepted values of `iss`. Without any, tokens are those of the deployment's provider of this name, for the apps in `audiences`.
        issuers: Issuers,
        /// The ids of the company's apps at the provider: accepted values of `aud` and `azp`.
        audiences: Apps,
        /// The URL of the provider's keys (JWK set), beside `issuers`.
        jwks_url: Option<KeysUrl>,
        /// The client that exchanges authorization codes, which are required then. Of `idp-c`, the id of the app.
        client_id: Option<Line<255>>,
        /// Where authorization codes are exchanged. If it is missing, where the deployment exchanges those of its own app.
        token_url: Option<EndpointUrl>,
        /// Of `idp-c`, the URL of its API with its version. If it is missing, that of the deployment.
        graph_url: Option<EndpointUrl>,
    }
    by_hand {
        /// The secret of the client. A `token_url` or `graph_url` with another scheme, host or port needs it again.
        #[write_only]
        client_secret: Option<ClientSecret>,
    }
    computed {
        /// Whether the provider has a client secret.
        has_client_secret: bool = |provider| provider.client_secret.is_some(),
    }
    hidden {
        /// The secret of the client, encrypted; see `ClientSecret::open`.
        client_secret: Option<Vec<u8>>,
    }
}

crate::text_enum! {
    /// Whether the stores of the company offer the provider.
    pub enum ProviderStatus, default Active {
        /// Customers can sign in with it.
        Active = "active",
        /// Customers cannot sign in with it.
        Inactive = "inactive",
    }
}

impl Resource for IdentityProviderRecord {
    type Id = IdentityProviderId;
    type State = CompanyProviders;

    const SINGULAR: &'static str = "identity_provider";
    const PLURAL: &'static str = "identity_providers";
    const AREA: Area = Area::Integration;
    /// Who says which tokens are trusted can open every account of the company.
    const WRITING: Scope = Scope::Admin;
    const WRITING_REACHES: &'static [(Area, Scope)] = &[(Area::Customers, Scope::Admin)];
    const LEADS_TO: &'static [&'static str] = &["issuers", "audiences", "jwks_url", "client_id", "token_url", "graph_url"];
}

/// Publishes no events.
impl PublishesEvents for IdentityProviderRecord {
    const AUDITED_AS: Option<fn(IdentityProviderId) -> ChangedRecord> = Some(ChangedRecord::IdentityProvider);
    const UNIQUE: &'static [Unique] = &[Unique {
        constraint: "identity_providers_name",
        member: "name",
        sentence: "The company has an identity provider with this name already.",
    }];

    fn evict(providers: &CompanyProviders, company: CompanyId) {
        providers.forget(company);
    }
}

impl IdentityProviderRecord {
    /// Completes what a body says: the secret, which is encrypted, and the check of the whole.
    fn complete(
        &mut self,
        secret: Member<Option<ClientSecret>>,
        transaction: &RecordTransaction<CompanyProviders>,
        id: IdentityProviderId,
    ) -> Result<(), Problem> {
        // Encrypting the same text twice gives different bytes, so a secret that is sent always counts as a change.
        if let Member::Sent(secret) = secret {
            let destination = self.stored(id).destination();
            self.client_secret = secret.map(|secret| secret.seal(transaction.state.key(), id, &destination));
        }
        let mut errors = FieldErrors::default();
        for (member, list) in [("issuers", &self.issuers), ("audiences", &self.audiences)] {
            if list.len() > MAX_ITEMS {
                errors.add(member, format!("There can be {MAX_ITEMS} at most."));
            }
        }
        errors.finish()?;
        let built = transaction.state.build(transaction.caller.company, &self.stored(id));
        // One that is not offered may be incomplete: it only takes the place of that of the deployment.
        match built {
            Err(Unusable::Settings(error)) if self.status == ProviderStatus::Inactive && error.setting != "name" => Ok(()),
            built => built.map(drop).map_err(refused),
        }
    }

    fn stored(&self, id: IdentityProviderId) -> StoredProvider {
        StoredProvider {
            id,
            version: 0,
            name: self.name.clone(),
            is_active: true,
            issuers: self.issuers.clone(),
            audiences: self.audiences.clone(),
            jwks_url: self.jwks_url.clone(),
            client_id: self.client_id.clone(),
            client_secret: self.client_secret.clone(),
            token_url: self.token_url.clone(),
            graph_url: self.graph_url.clone(),
        }
    }
}

/// The refusal, by member. Settings of the deployment have longer keys, and two that records do not have.
fn refused(error: Unusable) -> Problem {
    match error {
        Unusable::Name(error) => FieldErrors::one("name", error.to_string()),
        Unusable::Settings(error) => match error.setting.rsplit('.').next().unwrap_or_default() {
            "fields" => FieldErrors::one("client_id", "Apps send no authorization codes to this provider of the deployment."),
            "client_ids" => FieldErrors::one("audiences", format!("This {}.", error.reason)),
            member => FieldErrors::one(member, format!("This {}.", error.reason)),
        },
        Unusable::Secret(_) => FieldErrors::one("client_secret", SEND_AGAIN),
        Unusable::Client(NoClient::Forbidden(_)) => FieldErrors::one("jwks_url", FORBIDDEN),
        Unusable::Client(error @ NoClient::NotBuilt(_)) => {
            tracing::error!(error = chain(&error), "the client of an identity provider cannot be built");
            ProblemCode::Internal.into()
        }
    }
}

impl Editable for IdentityProviderRecord {
    type Body = IdentityProviderBody;

    async fn before_transaction(providers: &CompanyProviders, caller: &Caller, body: &IdentityProviderBody) -> Result<(), Problem> {
        let keys = if let Member::Sent(Some(KeysUrl(url))) = &body.jwks_url { Some(url) } else { None };
        let of_codes = if let Member::Sent(Some(url)) = &body.token_url { Some(url) } else { None };
        let of_c = if let Member::Sent(Some(url)) = &body.graph_url { Some(url) } else { None };
        for (member, url) in [("jwks_url", keys), ("token_url", of_codes), ("graph_url", of_c)] {
            if let Some(url) = url {
                providers.clients().check(caller.company, url).await.map_err(|_| FieldErrors::one(member, FORBIDDEN))?;
            }
        }
        Ok(())
    }

    async fn create(
        transaction: &mut RecordTransaction<CompanyProviders>,
        id: IdentityProviderId,
        mut body: IdentityProviderBody,
    ) -> Result<New<Self>, Problem> {
        let (secret, company) = (take(&mut body.client_secret), transaction.caller.company);
        let mut provider = Self::created_by(body)?;
        companies::lock(transaction.conn(), company).await?;
        if count_of::<Self>(transaction.conn(), company).await? >= MAX_OF_COMPANY {
            return Err(FieldErrors::one("name", format!("A company can have {MAX_OF_COMPANY} identity providers at most.")));
        }
        provider.complete(secret, transaction, id)?;
        Ok(provider.into())
    }

    async fn change(
        transaction: &mut RecordTransaction<CompanyProviders>,
        before: &Record<Self>,
        mut body: IdentityProviderBody,
    ) -> Result<Self, Problem> {
        let secret = take(&mut body.client_secret);
        let mut provider = before.fields.changed_by(body);
        if provider.name != before.fields.name {
            // The links of customers have it.
            return Err(FieldErrors::one("name", "The name of a provider cannot be changed. Create another provider instead."));
        }
        provider.complete(secret, transaction, before.id)?;
        Ok(provider)
    }
}
