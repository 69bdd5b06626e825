//! The webhook as a resource of `developers/int/v1`.

use serde::Deserialize;
use serde_json::{Map, Value};
use sqlx::PgConnection;

use crate::audit_trail::ChangedRecord;
use crate::kernel::clock::timestamp;
use crate::kernel::error_chain::chain;
use crate::kernel::ids::SubscriptionId;
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode};
use crate::members;
use crate::resources::{Change, Editable, FieldDoc, Filter, Line, Member, New, PublishesEvents, Record, RecordTransaction, Resource};
use crate::webhooks::sending::targets::EndpointUrl;
use crate::webhooks::subscription::{
    ApiVersion, AttemptTimeout, DisabledReason, EventFilter, ExtraHeaders, Ordering, RateLimit, SignatureFormat, SigningSecret, Status,
    Subscription, documentation, queries,
};
use crate::webhooks::{Webhooks, cancellation, health};

impl Resource for Subscription {
    type Id = SubscriptionId;
    type State = Webhooks;

    const SINGULAR: &'static str = "webhook";
    const PLURAL: &'static str = "webhooks";
    const TABLE: &'static str = "subscriptions";
    const FILTERS: &'static [Filter] = &[Filter::text_enum::<Status>("status"), Filter::text("url")];
    const SEARCH: &'static [&'static str] = &["url", "description"];
    const REFUSALS: &'static [ProblemCode] = &[ProblemCode::EndpointForbidden];

    /// All fields except the secrets.
    fn shown(&self) -> Map<String, Value> {
        members! {
            "url": self.url,
            "description": self.description,
            "events": self.events,
            "status": self.status,
            "disabled_reason": self.disabled_reason,
            "disabled_at": self.disabled_at.map(timestamp),
            "api_version": self.api_version,
            "signature_format": self.signature_format,
            "headers": self.headers.masked(),
            "timeout": self.timeout,
            "rate_limit": self.rate_limit,
            "ordering": self.ordering,
            "previous_secret_until": self.previous_secret_until.map(timestamp),
        }
    }

    async fn details(webhooks: &Webhooks, conn: &mut PgConnection, record: &Record<Self>) -> Result<Map<String, Value>, sqlx::Error> {
        let health = health::member(conn, record.id, webhooks.clock.now()).await?;
        Ok(members! { "health": health })
    }
}

/// Changes to webhooks publish no events. Disabling or deleting a webhook cancels its open deliveries.
impl PublishesEvents for Subscription {
    const AUDITED_AS: Option<fn(SubscriptionId) -> ChangedRecord> = Some(ChangedRecord::Webhook);

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

/// The body of a request that creates or changes a webhook.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Body {
    url: Member<EndpointUrl>,
    description: Member<Option<Line<255>>>,
    events: Member<EventFilter>,
    status: Member<Status>,
    api_version: Member<ApiVersion>,
    signature_format: Member<SignatureFormat>,
    headers: Member<ExtraHeaders>,
    timeout: Member<AttemptTimeout>,
    rate_limit: Member<Option<RateLimit>>,
    ordering: Member<Ordering>,
}

impl Body {
    fn put(self, subscription: &mut Subscription, id: SubscriptionId, transaction: &RecordTransaction<Webhooks>) -> Result<(), Problem> {
        self.url.put(&mut subscription.url);
        self.description.put_or_clear(&mut subscription.description);
        self.events.put(&mut subscription.events);
        self.api_version.put(&mut subscription.api_version);
        self.signature_format.put(&mut subscription.signature_format);
        self.timeout.put(&mut subscription.timeout);
        self.rate_limit.put_or_clear(&mut subscription.rate_limit);
        self.ordering.put(&mut subscription.ordering);
        if let Member::Sent(headers) = self.headers {
            subscription.set_headers(headers, &transaction.state.key, id).map_err(|error| {
                tracing::error!(subscription = %id, error = chain(&error), "the additional headers of a webhook could not be changed");
                Problem::from(ProblemCode::Internal)
            })?;
        }
        match self.status {
            Member::Missing => {}
            Member::Sent(Status::Enabled) => subscription.enable(),
            Member::Sent(Status::Disabled) => subscription.disable(DisabledReason::Requested, transaction.now),
        }
        Ok(())
    }
}

impl Editable for Subscription {
    type Body = Body;

    fn documented_fields() -> Vec<FieldDoc> {
        documentation::members()
    }

    async fn before_transaction(webhooks: &Webhooks, body: &Body) -> Result<(), Problem> {
        if let Member::Sent(events) = &body.events {
            events.check(&webhooks.catalogue).map_err(|unknown| FieldErrors::one("events", unknown.to_string()))?;
        }
        match &body.url {
            Member::Sent(url) => Ok(webhooks.delivering.targets.check(url).await?),
            Member::Missing => Ok(()),
        }
    }

    async fn create(transaction: &mut RecordTransaction<Webhooks>, id: SubscriptionId, body: Body) -> Result<New<Self>, Problem> {
        let Member::Sent(url) = body.url.clone() else { return Err(FieldErrors::one("url", "url is required.")) };
        let secret = SigningSecret::generate();
        let mut fields = Self::new(url, secret.seal(&transaction.state.key, id));
        body.put(&mut fields, id, transaction)?;
        Ok(New { fields, shown_once: members! { "secret": secret.reveal() } })
    }

    async fn change(transaction: &mut RecordTransaction<Webhooks>, before: &Record<Self>, body: Body) -> Result<Self, Problem> {
        let mut fields = before.fields.clone();
        body.put(&mut fields, before.id, transaction)?;
        Ok(fields)
    }
}
