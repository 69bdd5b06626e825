//! A transaction that changes records together with the consequences and the events about the change.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use crate::audit_trail::{self, Action};
use crate::callers::{Caller, Who};
use crate::events::{self, EventName, NewEvent};
use crate::kernel::database::{Connection, Transaction};
use crate::kernel::ids::CompanyId;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::traces::{self, Moment, Span, SpanKind, TraceContext};
use crate::operators::{self, Notice};
use crate::resources::kind::{queries, unique};
use crate::resources::{Change, PublishesEvents, Record, Resource, ResourceState, Shown};

/// An open transaction on the records of one company. Dropping it without [`RecordTransaction::commit`] rolls everything back.
#[derive(Debug)]
pub struct RecordTransaction<S> {
    /// The state of the module that the records belong to.
    pub state: S,
    /// Who makes the changes, to the records of which company.
    pub caller: Caller,
    /// The time used for everything in this transaction.
    pub now: DateTime<Utc>,
    began: Moment,
    /// The first change, with what follows from it, as part of the request.
    span: Option<Span>,
    /// What evicts cached records of each kind that has changed, by the name of the kind.
    evictions: BTreeMap<&'static str, fn(&S, CompanyId)>,
    /// The events, which the commit publishes.
    events: Vec<NewEvent>,
    transaction: Transaction<'static>,
}

impl<S: ResourceState> RecordTransaction<S> {
    /// Opens the transaction. No network request may be made until it ends.
    pub async fn begin(state: &S, caller: &Caller) -> Result<Self, sqlx::Error> {
        let began = Moment::now(state.clock().now());
        let transaction = state.pool().begin().await?;
        let (state, caller, now) = (state.clone(), caller.clone(), state.clock().now());
        Ok(Self { state, caller, now, began, span: None, evictions: BTreeMap::new(), events: Vec::new(), transaction })
    }

    /// The span that events of this transaction follow from, if it is recorded.
    pub fn trace(&self) -> Option<TraceContext> {
        self.span.as_ref().map(Span::context).or_else(traces::context)
    }

    /// The connection, for statements of the resource's own.
    pub fn conn(&mut self) -> &mut Connection {
        &mut self.transaction
    }

    /// Returns the record as it is now, without a lock.
    pub async fn find<R: Resource<State = S>>(&mut self, id: R::Id) -> Result<Option<Record<R>>, sqlx::Error> {
        queries::find(&mut self.transaction, &R::descriptor(&self.state), (&self.caller).into(), id).await
    }

    /// Returns the record with a shared lock: it does not change until this transaction ends, so that dependent changes can rely on it.
    pub async fn lock_shared<R: Resource<State = S>>(&mut self, id: R::Id) -> Result<Option<Record<R>>, sqlx::Error> {
        queries::lock_shared(&mut self.transaction, &R::descriptor(&self.state), (&self.caller).into(), id).await
    }

    /// Returns the record as a response shows it, or the error `record_not_found`.
    pub async fn show<R: Resource<State = S>>(&mut self, id: R::Id) -> Result<Shown<R>, Problem> {
        let record = self.find(id).await?.ok_or(ProblemCode::RecordNotFound)?;
        Ok(self.present(record).await?)
    }

    /// Presents a record that was read or written in this transaction, as a response shows it.
    pub async fn present<R: Resource<State = S>>(&mut self, record: Record<R>) -> Result<Shown<R>, sqlx::Error> {
        Shown::one(&mut self.transaction, &R::descriptor(&self.state), record).await
    }

    /// Presents many records, in their order.
    pub async fn present_all<R: Resource<State = S>>(&mut self, records: Vec<Record<R>>) -> Result<Vec<Shown<R>>, sqlx::Error> {
        Shown::many(&mut self.transaction, &R::descriptor(&self.state), records).await
    }

    /// Returns the record, locked against other changes until this transaction ends, or the error `record_not_found`.
    pub async fn lock<R: Resource<State = S>>(&mut self, id: R::Id) -> Result<Record<R>, Problem> {
        let record = queries::lock(&mut self.transaction, &R::descriptor(&self.state), (&self.caller).into(), id).await?;
        record.ok_or_else(|| ProblemCode::RecordNotFound.into())
    }

    /// Locks and returns those of the records that exist.
    pub async fn lock_all<R: Resource<State = S>>(&mut self, ids: &[R::Id]) -> Result<Vec<Record<R>>, sqlx::Error> {
        queries::lock_all(&mut self.transaction, &R::descriptor(&self.state), (&self.caller).into(), ids).await
    }

    /// Creates a record; the commit publishes its events. A violated [`PublishesEvents::UNIQUE`] becomes a validation error.
    pub async fn insert<R: PublishesEvents<State = S>>(&mut self, id: R::Id, fields: R) -> Result<Shown<R>, Problem> {
        let record =
            queries::insert(&mut self.transaction, self.caller.company, id, &fields, self.now).await.map_err(unique::refusal::<R>)?;
        self.announce_change(Change::Created(&record)).await
    }

    /// Updates a locked record. An unchanged record is not written and publishes nothing.
    pub async fn update<R: PublishesEvents<State = S>>(&mut self, before: Record<R>, after: R) -> Result<Shown<R>, Problem> {
        if before.fields == after {
            return Ok(self.present(before).await?);
        }
        let after = queries::update(&mut self.transaction, before.id, &after, self.now).await.map_err(unique::refusal::<R>)?;
        self.announce_change(Change::Updated(&before, &after)).await
    }

    /// Soft-deletes a locked record. Returns an error if other records reference it ([`PublishesEvents::REFERENCED_BY`]).
    pub async fn delete<R: PublishesEvents<State = S>>(&mut self, record: Record<R>) -> Result<Shown<R>, Problem> {
        for referenced_by in R::REFERENCED_BY {
            referenced_by.check(&mut self.transaction, record.id.into()).await?;
        }
        queries::mark_deleted::<R>(&mut self.transaction, record.id, self.now).await?;
        self.announce_change(Change::Deleted(&record)).await
    }

    async fn announce_change<R: PublishesEvents<State = S>>(&mut self, change: Change<'_, R>) -> Result<Shown<R>, Problem> {
        self.evictions.insert(R::SINGULAR, R::evict);
        if change.leads_elsewhere() {
            self.lead_elsewhere(change.record().id.to_string()).await?;
        }
        self.audit(&change).await?;
        if self.span.is_none() {
            self.span = traces::part(SpanKind::Internal, format!("change {}", R::SINGULAR), self.began);
            if let Some(span) = &mut self.span {
                span.set("portico.record.id", change.record().id.to_string());
            }
        }
        R::follow_up(self, &change).await?;
        // The record is presented after its consequences were applied, because they may be part of what is shown.
        let shown = self.present(change.record().clone()).await?;
        for name in R::events_in(&self.state, &change) {
            self.events.push(self.event(&shown, name, Map::new()));
        }
        Ok(shown)
    }

    /// What leads elsewhere goes on after the session of an operator has ended. A copied cookie is not enough for it, and the owners are told by the
    /// id of the record, because a thief can word everything else.
    async fn lead_elsewhere(&mut self, record: String) -> Result<(), Problem> {
        self.caller.require_proof()?;
        if let Who::Operator(_) = self.caller.who {
            let company = self.caller.company;
            operators::tell_owners(&mut self.transaction, company, None, Notice::Destination, &record, self.now).await?;
        }
        Ok(())
    }

    /// Records the change in the audit trail, if its kind belongs there.
    async fn audit<R: PublishesEvents<State = S>>(&mut self, change: &Change<'_, R>) -> Result<(), sqlx::Error> {
        let Some(record) = R::AUDITED_AS else { return Ok(()) };
        let fields = change.fields();
        let action = match change {
            Change::Created(_) => Action::Created,
            Change::Updated(..) => Action::Updated(&fields),
            Change::Deleted(_) => Action::Deleted,
        };
        audit_trail::record(&mut self.transaction, &self.caller, action, record(change.record().id), self.now).await
    }

    /// An event about a record as it is now, with `additional` as its `additionalData`, for the caller to publish.
    pub async fn event_about<R: Resource<State = S>>(
        &mut self,
        record: Record<R>,
        name: EventName,
        additional: Map<String, Value>,
    ) -> Result<NewEvent, sqlx::Error> {
        let shown = self.present(record).await?;
        Ok(self.event(&shown, name, additional))
    }

    /// Publishes such an event with the commit, in addition to those that the record's own changes publish.
    pub async fn announce<R: Resource<State = S>>(
        &mut self,
        record: Record<R>,
        name: EventName,
        additional: Map<String, Value>,
    ) -> Result<(), sqlx::Error> {
        let event = self.event_about(record, name, additional).await?;
        self.events.push(event);
        Ok(())
    }

    /// Publishes an event about each of the records with the commit.
    pub async fn announce_all<R: Resource<State = S>>(&mut self, records: Vec<Record<R>>, name: &EventName) -> Result<(), sqlx::Error> {
        for about in self.present_all(records).await? {
            self.events.push(self.event(&about, name.clone(), Map::new()));
        }
        Ok(())
    }

    fn event<R: Resource>(&self, about: &Shown<R>, name: EventName, additional: Map<String, Value>) -> NewEvent {
        let subject = Some(about.record.id.into());
        let owner = about.record.fields.owner().cloned();
        let (request, trace) = (self.caller.request, self.trace());
        NewEvent { company: self.caller.company, name, subject, owner, request, trace, data: about.event_data(additional).into() }
    }

    /// Publishes the events in one statement, in their order, and commits the transaction. Evicts what is cached of the kinds that it has changed, of
    /// this company alone, even if the commit fails.
    pub async fn commit(mut self) -> Result<(), sqlx::Error> {
        if !self.events.is_empty() {
            events::publish_all(&mut self.transaction, &self.events, self.now).await?;
        }
        let committed = self.transaction.commit().await;
        // Also after an error: the connection may have failed after the commit took effect.
        for evict in self.evictions.into_values() {
            evict(&self.state, self.caller.company);
        }
        committed
    }
}
