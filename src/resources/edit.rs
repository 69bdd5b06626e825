//! A transaction in which records change, together with what follows from it and the events that tell of it.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};
use sqlx::{PgConnection, Postgres, Transaction};

use crate::companies::CallingCompany;
use crate::events::{self, EventName, NewEvent};
use crate::kernel::ids::{CompanyId, EventId};
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode};
use crate::resources::{Announced, Change, Record, Resource, Room, Shown, no_such, queries, unique};

/// An open transaction on the records of one company. Dropped without [`Edit::commit`], nothing has happened.
#[derive(Debug)]
pub struct Edit<M> {
    /// The state of the room the records belong to.
    pub room: M,
    /// Whose records are changed.
    pub company: CompanyId,
    /// Who asked for it, where somebody did with an API key.
    pub caller: Option<CallingCompany>,
    /// The instant of everything that happens in it.
    pub now: DateTime<Utc>,
    transaction: Transaction<'static, Postgres>,
}

impl<M: Room> Edit<M> {
    /// Opens the transaction. Nothing may be asked of the network until it ends.
    pub async fn begin(room: &M, company: CompanyId) -> Result<Self, sqlx::Error> {
        let transaction = room.pool().begin().await?;
        Ok(Self { room: room.clone(), company, caller: None, now: room.clock().now(), transaction })
    }

    /// Opens the transaction of a request.
    pub async fn by(room: &M, caller: &CallingCompany) -> Result<Self, sqlx::Error> {
        Ok(Self { caller: Some(caller.clone()), ..Self::begin(room, caller.company).await? })
    }

    /// The connection, for statements of the room's own.
    pub fn conn(&mut self) -> &mut PgConnection {
        &mut self.transaction
    }

    /// The record, as it is at this moment.
    pub async fn find<R: Resource<Room = M>>(&mut self, id: R::Id) -> Result<Option<Record<R>>, sqlx::Error> {
        queries::find(&mut self.transaction, &R::terms(&self.room), self.company, id).await
    }

    /// The record, as it stays until this transaction ends: what depends on it can rely on it.
    pub async fn hold<R: Resource<Room = M>>(&mut self, id: R::Id) -> Result<Option<Record<R>>, sqlx::Error> {
        queries::hold(&mut self.transaction, &R::terms(&self.room), self.company, id).await
    }

    /// Holds the record that `member` names and did not name before; refuses when it is not there.
    pub async fn hold_link<R: Resource<Room = M>>(
        &mut self,
        member: &str,
        before: Option<R::Id>,
        after: Option<R::Id>,
    ) -> Result<(), Problem> {
        match after.filter(|id| before != Some(*id)) {
            Some(id) if self.hold::<R>(id).await?.is_none() => Err(FieldErrors::one(member, no_such(R::SINGULAR))),
            _ => Ok(()),
        }
    }

    /// The record, as an answer tells it; refuses with `record_not_found`.
    pub async fn show<R: Resource<Room = M>>(&mut self, id: R::Id) -> Result<Shown<R>, Problem> {
        let record = self.find(id).await?.ok_or(ProblemCode::RecordNotFound)?;
        Ok(self.present(record).await?)
    }

    /// A record as it was read or written in this transaction, as an answer tells it.
    pub async fn present<R: Resource<Room = M>>(&mut self, record: Record<R>) -> Result<Shown<R>, sqlx::Error> {
        Shown::one(&mut self.transaction, &R::terms(&self.room), record).await
    }

    /// The record, locked against other changes until this transaction ends; refuses with `record_not_found`.
    pub async fn lock<R: Resource<Room = M>>(&mut self, id: R::Id) -> Result<Record<R>, Problem> {
        let record = self.lock_all(&[id]).await?.pop();
        record.ok_or_else(|| ProblemCode::RecordNotFound.into())
    }

    /// Those of the records that exist, all locked.
    pub async fn lock_all<R: Resource<Room = M>>(&mut self, ids: &[R::Id]) -> Result<Vec<Record<R>>, sqlx::Error> {
        queries::lock(&mut self.transaction, &R::terms(&self.room), self.company, ids).await
    }

    /// Creates a record.
    pub async fn insert<R: Announced<Room = M>>(&mut self, id: R::Id, fields: R) -> Result<Shown<R>, Problem> {
        let record = queries::insert(&mut self.transaction, self.company, id, &fields, self.now).await.map_err(unique::refusal::<R>)?;
        self.announce_change(Change::Created(&record)).await
    }

    /// Changes a record that is locked; what stays as it was is not written and publishes nothing.
    pub async fn update<R: Announced<Room = M>>(&mut self, before: Record<R>, after: R) -> Result<Shown<R>, Problem> {
        if before.fields == after {
            return Ok(self.present(before).await?);
        }
        let after = queries::update(&mut self.transaction, before.id, &after, self.now).await.map_err(unique::refusal::<R>)?;
        self.announce_change(Change::Updated(&before, &after)).await
    }

    /// Deletes a record that is locked and that no other needs; it is not found any more, but stays in the table.
    pub async fn delete<R: Announced<Room = M>>(&mut self, record: Record<R>) -> Result<Shown<R>, Problem> {
        for needed_by in R::NEEDED_BY {
            needed_by.check(&mut self.transaction, record.id.into()).await?;
        }
        queries::mark_deleted::<R>(&mut self.transaction, record.id, self.now).await?;
        self.announce_change(Change::Deleted(&record)).await
    }

    async fn announce_change<R: Announced<Room = M>>(&mut self, change: Change<'_, R>) -> Result<Shown<R>, Problem> {
        R::follow_up(self, &change).await?;
        // Presented after what follows from the change, which may be part of what is shown.
        let shown = self.present(change.record().clone()).await?;
        for name in R::events_in(&self.room, &change) {
            self.publish(&shown, name, Map::new()).await?;
        }
        Ok(shown)
    }

    /// Publishes an event about a record beside those its own changes publish, with `additional` as its `additionalData`.
    pub async fn announce<R: Resource<Room = M>>(
        &mut self,
        record: Record<R>,
        name: EventName,
        additional: Map<String, Value>,
    ) -> Result<EventId, sqlx::Error> {
        let shown = self.present(record).await?;
        self.publish(&shown, name, additional).await
    }

    /// Publishes an event about each of the records, all by one statement.
    pub async fn announce_all<R: Resource<Room = M>>(&mut self, records: Vec<Record<R>>, name: &EventName) -> Result<(), sqlx::Error> {
        let (company, shown) = (self.company, Shown::many(&mut self.transaction, &R::terms(&self.room), records).await?);
        let told = |about: Shown<R>| NewEvent {
            company,
            name: name.clone(),
            subject: Some(about.record.id.into()),
            data: about.event_data(Map::new()),
        };
        let events: Vec<_> = shown.into_iter().map(told).collect();
        if !events.is_empty() {
            events::publish_all(&mut self.transaction, &events, self.now).await?;
        }
        Ok(())
    }

    async fn publish<R: Resource>(
        &mut self,
        about: &Shown<R>,
        name: EventName,
        additional: Map<String, Value>,
    ) -> Result<EventId, sqlx::Error> {
        let subject = Some(about.record.id.into());
        let event = NewEvent { company: self.company, name, subject, data: about.event_data(additional) };
        events::publish(&mut self.transaction, event, self.now).await
    }

    /// Makes it all happen.
    pub async fn commit(self) -> Result<(), sqlx::Error> {
        let committed = self.transaction.commit().await;
        // Even after an error: the connection may have broken when all was done.
        self.room.forget_what_changed();
        committed
    }
}
