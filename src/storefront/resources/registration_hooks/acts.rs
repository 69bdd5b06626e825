//! What can be done with a registration hook beside changing its fields: asking it before the first customer does, and a new signing secret.

use axum::Json;
use axum::http::StatusCode;
use axum::response::Response;
use chrono::TimeDelta;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::callers::Caller;
use crate::kernel::error_chain::shown_chain;
use crate::kernel::ids::RegistrationHookId;
use crate::kernel::json::JsonOptions;
use crate::kernel::openapi::{OperationDoc, closed_object, object};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::rate_limit::{self, Rule};
use crate::resources::{EmptyBody, GracePeriod, RecordTransaction, Resource, ResourceState, Shown, WriteRequest};
use crate::storefront::registration_hooks::{Answer, RegistrationHooks};
use crate::storefront::resources::registration_hooks::RegistrationHookRecord;
use crate::webhooks::SigningSecret;

/// Whoever has a key could otherwise have the hook asked without end.
const TESTS: Rule = Rule { limit: 10, window: TimeDelta::hours(1) };

pub fn test_doc() -> OperationDoc {
    let answer = object([("ok", json!({ "type": "boolean" })), ("detail", json!({ "type": "string" }))]);
    OperationDoc::new("Ask a registration hook about the sample of a customer: ten times within an hour for each company.")
        .taking_options(EmptyBody::schema())
        .answering(StatusCode::OK, answer)
        .refusing(&[ProblemCode::RateLimited])
}

/// `POST registration-hooks/{uuid}/test`: responds with `{"ok":…,"detail":"…"}`. Both answers of a hook are fine.
pub async fn test(
    WriteRequest { state: hooks, caller, id }: WriteRequest<RegistrationHookRecord>,
    JsonOptions(EmptyBody {}): JsonOptions<EmptyBody>,
) -> Result<Json<Value>, Problem> {
    let (ok, detail) = match hooks.test(&caller, id).await? {
        Ok(detail) => (true, detail),
        Err(detail) => (false, detail),
    };
    Ok(Json(json!({ "ok": ok, "detail": detail })))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rotation {
    /// Seconds for which the old secret continues to sign.
    #[serde(default)]
    overlap: GracePeriod,
}

pub fn rotate_secret_doc() -> OperationDoc {
    OperationDoc::new("Rotate the signing secret of a registration hook.")
        .taking_options(closed_object(&[], [("overlap", GracePeriod::schema())]))
        .showing(StatusCode::OK, RegistrationHookRecord::SINGULAR)
}

/// `POST registration-hooks/{uuid}/rotate-secret`
pub async fn rotate_secret(
    WriteRequest { state: hooks, caller, id }: WriteRequest<RegistrationHookRecord>,
    JsonOptions(rotation): JsonOptions<Rotation>,
) -> Result<Response, Problem> {
    let (mut hook, secret) = hooks.rotate_secret(&caller, id, rotation.overlap.into()).await?;
    hook.members.insert("secret".to_owned(), secret.reveal().into());
    Ok(hook.answer(StatusCode::OK))
}

impl RegistrationHooks {
    /// What the hook answers, as a sentence. No transaction is open meanwhile.
    async fn test(&self, caller: &Caller, id: RegistrationHookId) -> Result<Result<String, String>, Problem> {
        RegistrationHookRecord::require(caller, RegistrationHookRecord::writing())?;
        let mut transaction = RecordTransaction::begin(self, caller).await?;
        let found = transaction.find::<RegistrationHookRecord>(id).await?.ok_or(ProblemCode::RecordNotFound)?.fields;
        drop(transaction);
        let bucket = format!("hook_tests:{}", caller.company);
        let hit = rate_limit::hit(&mut self.pool().acquire().await?, &bucket, TESTS, self.clock().now()).await?;
        if !hit.allowed {
            return Err(hit.problem());
        }
        let hook = match self.prepare(caller.company, &found.stored(id)) {
            Ok(hook) => hook,
            Err(error) => return Ok(Err(format!("It cannot be asked: {error}."))),
        };
        Ok(match self.try_out(&hook, found.store_id).await {
            Ok(Answer::Allowed) => Ok("It allows the registration of the sample.".to_owned()),
            Ok(Answer::Refused { reason: None }) => Ok("It refuses the registration of the sample, without a reason.".to_owned()),
            Ok(Answer::Refused { reason: Some(reason) }) => Ok(format!("It refuses the registration of the sample: {reason}")),
            Err(error) => Err(format!("It did not answer as it should: {}.", shown_chain(&error))),
        })
    }

    /// Gives a hook a new secret and returns it. The old secret signs in parallel for `overlap`; without one it becomes invalid at once.
    async fn rotate_secret(
        &self,
        caller: &Caller,
        id: RegistrationHookId,
        overlap: TimeDelta,
    ) -> Result<(Shown<RegistrationHookRecord>, SigningSecret), Problem> {
        RegistrationHookRecord::require(caller, RegistrationHookRecord::writing())?;
        // The new secret is shown.
        caller.require_proof()?;
        let secret = SigningSecret::generate();
        let mut transaction = RecordTransaction::begin(self, caller).await?;
        let before = transaction.lock::<RegistrationHookRecord>(id).await?;
        let mut after = before.fields.clone();
        let old = std::mem::replace(&mut after.sealed_secret, secret.seal(self.key(), id));
        let until = (overlap > TimeDelta::zero()).then(|| transaction.now + overlap);
        (after.sealed_previous_secret, after.previous_secret_until) = (until.map(|_| old), until);
        let shown = transaction.update(before, after).await?;
        transaction.commit().await?;
        Ok((shown, secret))
    }
}
