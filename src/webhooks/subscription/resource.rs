//! The webhook as a resource of `developers/int/v1`.

use std::mem::take;

use serde_json::{Map, Value};
use sqlx::PgConnection;

use crate::callers::Area;
use crate::kernel::error_chain::chain;
use crate::kernel::ids::SubscriptionId;
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode};
use crate::members;
use crate::resources::{Editable, Fields, Member, New, Record, RecordTransaction, Resource};
use crate::webhooks::endpoint::{ExtraHeaders, SigningSecret};
use crate::webhooks::subscription::{DisabledReason, Status, Subscription, SubscriptionBody};
use crate::webhooks::{Webhooks, health};

impl Resource for Subscription {
    type Id = SubscriptionId;
    type State = Webhooks;

    const SINGULAR: &'static str = "webhook";
    const PLURAL: &'static str = "webhooks";
    const AREA: Area = Area::Integration;
    const TABLE: &'static str = "subscriptions";
    const REFUSALS: &'static [ProblemCode] = &[ProblemCode::EndpointForbidden];

    async fn details(webhooks: &Webhooks, conn: &mut PgConnection, record: &Record<Self>) -> Result<Map<String, Value>, sqlx::Error> {
        let health = health::member(conn, record.id, webhooks.clock.now()).await?;
        Ok(members! { "health": health })
    }
}

impl Subscription {
    /// Completes what a body says: the headers, which are encrypted, and what follows from a changed status.
    fn complete(
        &mut self,
        before: Status,
        headers: Member<ExtraHeaders>,
        id: SubscriptionId,
        transaction: &RecordTransaction<Webhooks>,
    ) -> Result<(), Problem> {
        if let Member::Sent(headers) = headers {
            self.set_headers(headers, &transaction.state.key, id).map_err(|error| {
                tracing::error!(subscription = %id, error = chain(&error), "the additional headers of a webhook could not be changed");
                Problem::from(ProblemCode::Internal)
            })?;
        }
        match std::mem::replace(&mut self.status, before) {
            Status::Enabled => self.enable(),
            Status::Disabled => self.disable(DisabledReason::Requested, transaction.now),
        }
        Ok(())
    }
}

impl Editable for Subscription {
    type Body = SubscriptionBody;

    async fn before_transaction(webhooks: &Webhooks, body: &SubscriptionBody) -> Result<(), Problem> {
        if let Member::Sent(events) = &body.events {
            events.check(&webhooks.catalogue).map_err(|unknown| FieldErrors::one("events", unknown.to_string()))?;
        }
        match &body.url {
            Member::Sent(url) => Ok(webhooks.delivering.targets.check(url).await?),
            Member::Missing => Ok(()),
        }
    }

    async fn create(
        transaction: &mut RecordTransaction<Webhooks>,
        id: SubscriptionId,
        mut body: SubscriptionBody,
    ) -> Result<New<Self>, Problem> {
        let headers = take(&mut body.headers);
        let mut fields = Self::created_by(body)?;
        let secret = SigningSecret::generate();
        fields.sealed_secret = secret.seal(&transaction.state.key, id);
        fields.complete(Status::Enabled, headers, id, transaction)?;
        Ok(New { fields, shown_once: members! { "secret": secret.reveal() } })
    }

    async fn change(
        transaction: &mut RecordTransaction<Webhooks>,
        before: &Record<Self>,
        mut body: SubscriptionBody,
    ) -> Result<Self, Problem> {
        let headers = take(&mut body.headers);
        let mut fields = before.fields.changed_by(body);
        fields.complete(before.fields.status, headers, before.id, transaction)?;
        Ok(fields)
    }
}
