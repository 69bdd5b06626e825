//! The webhook as a resource of `developers/int/v1`.

use std::mem::take;

use serde_json::{Map, Value};
use sqlx::PgConnection;

use crate::events::Publisher;
use crate::kernel::error_chain::chain;
use crate::kernel::ids::SubscriptionId;
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode};
use crate::members;
use crate::resources::{Change, Editable, EventDoc, Fields, Member, New, PublishesEvents, Record, RecordTransaction, Resource};
use crate::webhooks::subscription::{DisabledReason, EVENTS, ExtraHeaders, SigningSecret, Status, Subscription, SubscriptionBody, queries};
use crate::webhooks::{Webhooks, cancellation, health};

impl Resource for Subscription {
    type Id = SubscriptionId;
    type State = Webhooks;

    const SINGULAR: &'static str = "webhook";
    const PLURAL: &'static str = "webhooks";
    const TABLE: &'static str = "subscriptions";
    const REFUSALS: &'static [ProblemCode] = &[ProblemCode::EndpointForbidden];

    async fn details(webhooks: &Webhooks, conn: &mut PgConnection, record: &Record<Self>) -> Result<Map<String, Value>, sqlx::Error> {
        let health = health::member(conn, record.id, webhooks.clock.now()).await?;
        Ok(members! { "health": health })
    }
}

/// Changes to webhooks publish no events; the service publishes those of the list. Disabling or deleting a webhook cancels its open
/// deliveries.
impl PublishesEvents for Subscription {
    const EVENTS: &'static [EventDoc] = EVENTS;
    const PUBLISHER: Publisher = Publisher::Service;

    async fn follow_up(transaction: &mut RecordTransaction<Webhooks>, change: &Change<'_, Self>) -> Result<(), Problem> {
        let (id, now) = (change.record().id, transaction.now);
        match change {
            Change::Created(_) => queries::insert_endpoint(transaction.conn(), id).await?,
            Change::Updated(before, after) if after.fields.status == Status::Enabled => {
                if before.fields.status == Status::Disabled {
                    queries::reset_endpoint(transaction.conn(), id).await?;
                }
            }
            // A change to a webhook that is already disabled does not cancel its replays.
            Change::Updated(before, _) if before.fields.status == Status::Disabled => {}
            Change::Updated(..) | Change::Deleted(_) => cancellation::cancel_all(transaction.conn(), id, now).await?,
        }
        Ok(())
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
