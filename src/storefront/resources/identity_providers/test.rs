//! `POST identity-providers/{uuid}/test`: asks a provider of a company before the first customer does.

use axum::Json;
use axum::http::StatusCode;
use chrono::TimeDelta;
use serde_json::{Value, json};

use crate::callers::Caller;
use crate::kernel::ids::IdentityProviderId;
use crate::kernel::json::JsonOptions;
use crate::kernel::openapi::{OperationDoc, object};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::rate_limit::{self, Rule};
use crate::providers::identity::OwnProvider;
use crate::resources::{EmptyBody, RecordTransaction, Resource, ResourceState, WriteRequest};
use crate::storefront::company_providers::CompanyProviders;
use crate::storefront::resources::identity_providers::IdentityProviderRecord;

/// Whoever has a key could otherwise have the provider asked without end.
const TESTS: Rule = Rule { limit: 10, window: TimeDelta::hours(1) };

pub fn doc() -> OperationDoc {
    let answer = object([("ok", json!({ "type": "boolean" })), ("detail", json!({ "type": "string" }))]);
    OperationDoc::new("Ask an identity provider for its keys or, of idp-c, whether it accepts the app and its secret.")
        .explained("Ten times within an hour for each company.".to_owned())
        .taking_options(EmptyBody::schema())
        .answering(StatusCode::OK, answer)
        .refusing(&[ProblemCode::RateLimited])
}

/// Responds with `{"ok":…,"detail":"…"}`.
pub async fn test(
    WriteRequest { state: providers, caller, id }: WriteRequest<IdentityProviderRecord>,
    JsonOptions(EmptyBody {}): JsonOptions<EmptyBody>,
) -> Result<Json<Value>, Problem> {
    let (ok, detail) = match providers.test(&caller, id).await? {
        Ok(detail) => (true, detail),
        Err(detail) => (false, detail),
    };
    Ok(Json(json!({ "ok": ok, "detail": detail })))
}

impl CompanyProviders {
    /// What the provider answers, as a sentence. No transaction is open meanwhile.
    async fn test(&self, caller: &Caller, id: IdentityProviderId) -> Result<Result<String, String>, Problem> {
        IdentityProviderRecord::require(caller, IdentityProviderRecord::writing())?;
        let mut transaction = RecordTransaction::begin(self, caller).await?;
        let found = transaction.find::<IdentityProviderRecord>(id).await?.ok_or(ProblemCode::RecordNotFound)?.fields;
        drop(transaction);
        let bucket = format!("provider_tests:{}", caller.company);
        let hit = rate_limit::hit(&mut self.pool().acquire().await?, &bucket, TESTS, self.clock().now()).await?;
        if !hit.allowed {
            return Err(hit.problem());
        }
        Ok(match self.build(caller.company, &found.stored(id)) {
            Err(error) => Err(format!("It cannot be used: {error}.")),
            Ok(OwnProvider::Listed(listed)) => match listed.oidc.offered()?.count_keys().await {
                Ok(keys) => Ok(format!("{keys} of the keys that it publishes can be used.")),
                Err(error) => Err(format!("Its keys cannot be fetched: {error}.")),
            },
            Ok(OwnProvider::IdpC(idp_c)) => match (idp_c.introduce().await, idp_c.count_keys().await) {
                (Ok(_), Ok(_)) => Ok("It accepts the app and its secret.".to_owned()),
                (Err(error), _) => Err(format!("It does not accept the app and its secret: {error}.")),
                (_, Err(error)) => Err(format!("The keys of its identity tokens cannot be fetched: {error}.")),
            },
        })
    }
}
