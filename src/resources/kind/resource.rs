//! The traits of a kind of record, in three steps: how it is read, which events its changes publish, how a request body edits it.

use std::future::{Future, ready};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::audit_trail::ChangedRecord;
use crate::callers::{Area, Caller, Owner, Permissions, Scope};
use crate::events::{Catalogue, EventName, Publisher};
use crate::kernel::clock::Clock;
use crate::kernel::database::{Connection, Pool};
use crate::kernel::ids::{CompanyId, TypedId};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::resources::{Columns, EventDoc, Fields, Record, RecordTransaction, ReferencedBy, ResourceDescriptor, Unique};

/// The JSON fields of records, in the order of the records.
pub type Presented = Result<Vec<Map<String, Value>>, sqlx::Error>;

/// The state of the module that a resource belongs to.
pub trait ResourceState: Clone + Send + Sync + 'static {
    /// The database pool.
    fn pool(&self) -> &Pool;
    /// The clock.
    fn clock(&self) -> &Clock;
}

/// A kind of record that has the two `GET` routes.
pub trait Resource: Columns {
    /// The type of its ids.
    type Id: TypedId;
    /// The state of its module.
    type State: ResourceState;

    /// The singular name in JSON: `tracking_number`.
    const SINGULAR: &'static str;
    /// The plural name in JSON: `tracking_numbers`. In paths `-` replaces `_`.
    const PLURAL: &'static str;
    /// The table, or a view with the same columns.
    const TABLE: &'static str = Self::PLURAL;
    /// The column that must be filtered by before `query` is accepted, for kinds of which a company has millions.
    const SEARCH_WITHIN: Option<&'static str> = None;
    /// Whether an index finds the records that contain a text. Without one, a search reads a limited number of records per page (5000) and
    /// continues on the next page.
    const SEARCH_INDEX: bool = false;

    /// The part of a company's data that the records belong to.
    const AREA: Area;
    /// The scope that an API key needs to list and find records.
    const READING: Scope = Scope::Read;
    /// The scope that an API key needs to create, change and delete records.
    const WRITING: Scope = Scope::Write;
    /// What a change of the records reaches beyond [`Self::AREA`]: a provider of messages reads the codes of customers. Creating, changing
    /// and deleting a record needs these scopes too, and so does everything else that is done with it.
    const WRITING_REACHES: &'static [(Area, Scope)] = &[];

    /// What deleting a record reaches beyond [`Self::AREA`], where that is more than writing reaches: a store shuts out its customers. An operator
    /// proves again who they are before that.
    const DELETING_REACHES: &'static [(Area, Scope)] = Self::WRITING_REACHES;

    /// The fields that say where the service sends something, whom it asks or whom it trusts, such as the URL of a webhook. That goes on after a
    /// session has ended, so an operator proves again who they are before one of them is set or changed, and the owners are told.
    const LEADS_TO: &'static [&'static str] = &[];
    /// The fields that let somebody in, such as the fixed code of a test identity. They are left out for a caller who may not write the record now.
    const SHOWN_TO_WRITERS: &'static [&'static str] = &[];
    /// Whether the response to the creation contains a secret, which an operator is shown after a proof alone.
    const SHOWS_SECRET: bool = false;

    /// All JSON fields that may tell the data of the event whose name is in the column `event`: an endpoint may answer with what it was sent.
    /// `attempts[].response_body` is in each element of a list. They are null for a caller who does not reach what the event is about, and a
    /// search does not read them for that caller. Goes with [`Resource::catalogue`].
    const EVENT_DATA: &'static [&'static str] = &[];

    /// How a statement knows the records of one owner; `None` for a kind that a caller who is restricted to one owner does not reach.
    const OWNED: Option<Owned> = None;

    /// The refusals of creating and changing beside those of every kind, for the documentation.
    const REFUSALS: &'static [ProblemCode] = &[];

    /// Who of the company's own customers the record is for, and with it the events about it.
    fn owner(&self) -> Option<&Owner> {
        None
    }

    /// All that listing and finding records reach.
    fn reading() -> Permissions {
        Permissions::new(Self::AREA, Self::READING, &[])
    }

    /// All that creating and changing records reach, and whatever else is done with them.
    fn writing() -> Permissions {
        Permissions::new(Self::AREA, Self::WRITING, Self::WRITING_REACHES)
    }

    /// All that deleting records reaches.
    fn deleting() -> Permissions {
        Permissions::new(Self::AREA, Self::WRITING, Self::DELETING_REACHES)
    }

    /// All that the few things reach that take more than writing, such as showing a secret.
    fn administering() -> Permissions {
        Permissions::new(Self::AREA, Scope::Admin, Self::WRITING_REACHES)
    }

    /// What this record reaches beyond its kind: a webhook reads what its events are about. Creating it needs these scopes
    /// too, and so does changing its fields, before and after the change.
    fn reaches(&self, _: &Self::State) -> Vec<(Area, Scope)> {
        Vec::new()
    }

    /// Returns the error `scope_missing` unless the caller reaches all of this.
    fn require(caller: &Caller, permissions: Permissions) -> Result<(), Problem> {
        permissions.iter().try_for_each(|(area, scope)| require_one::<Self>(caller, area, scope))
    }

    /// Returns the error `scope_missing` unless the caller may list and find records of the kind. Neither shows a secret.
    fn require_reading(caller: &Caller) -> Result<(), Problem> {
        Self::require(&caller.reading(), Self::reading())
    }

    /// Returns the error `scope_missing` unless the caller may delete records of the kind, or `fresh_sign_in_required` if that takes a proof.
    fn require_deleting(caller: &Caller) -> Result<(), Problem> {
        Self::require(caller, Self::writing())?;
        Self::require(caller, Self::deleting())?;
        if Self::deleting() == Self::writing() { Ok(()) } else { caller.require_proof() }
    }

    /// Returns the error `scope_missing` unless the caller reaches what this record does.
    fn require_reach(&self, state: &Self::State, caller: &Caller) -> Result<(), Problem> {
        self.reaches(state).into_iter().try_for_each(|(area, scope)| require_one::<Self>(caller, area, scope))
    }

    /// The events that [`Resource::EVENT_DATA`] may be of.
    fn catalogue(_: &Self::State) -> Option<&Catalogue> {
        None
    }

    /// The names of the kind. A type that serves a single kind derives them from the constants above.
    fn descriptor(_: &Self::State) -> ResourceDescriptor {
        ResourceDescriptor::of::<Self>()
    }

    /// The resource's own JSON fields, if they depend on this record alone: those of [`read_only!`](crate::read_only) or
    /// [`fields!`](crate::fields), unless it builds others. `id`, `uuid`, `created_at` and `updated_at` are added, and an empty `meta` if
    /// there is none.
    fn shown(&self) -> Map<String, Value> {
        self.members()
    }

    /// The JSON fields of each record, in the same order. Implemented instead of [`Resource::shown`] if other records must be read.
    /// Takes many records, so that a list costs one statement.
    fn present(_: &mut Connection, records: &[Record<Self>]) -> impl Future<Output = Presented> + Send {
        ready(Ok(records.iter().map(|record| record.fields.shown()).collect()))
    }

    /// Fields that only the response to `GET …/{uuid}` contains, because they would be too much for a list: those with the mark
    /// `#[detail]`, unless other records must be read. `caller` may see the record; some of its fields may be for others.
    fn details(
        _: &Self::State,
        _caller: &Caller,
        _: &mut Connection,
        record: &Record<Self>,
    ) -> impl Future<Output = Result<Map<String, Value>, sqlx::Error>> + Send {
        ready(Ok(record.fields.detail_members()))
    }
}

/// Requires `scope` in `area`. A caller who is restricted to one owner reaches only kinds whose records have owners.
fn require_one<R: Resource>(caller: &Caller, area: Area, scope: Scope) -> Result<(), Problem> {
    match R::OWNED {
        Some(_) => caller.require_within_owner(area, scope),
        None => caller.require(area, scope),
    }
}

/// Where the owner of a record is found.
#[derive(Clone, Copy, Debug)]
pub enum Owned {
    /// In the record's column `owner`.
    Itself,
    /// In the column `owner` of a view, in the row whose `key` the record has in its column of the same name.
    By {
        /// The view.
        view: &'static str,
        /// The column.
        key: &'static str,
    },
}

/// A change of a record.
#[derive(Debug)]
pub enum Change<'a, R: Resource> {
    /// The record was created.
    Created(&'a Record<R>),
    /// The record before and after the change; the two differ.
    Updated(&'a Record<R>, &'a Record<R>),
    /// The record was deleted; this is its last state.
    Deleted(&'a Record<R>),
}

impl<R: Resource> Change<'_, R> {
    /// The record after the change, or its last state if it was deleted.
    pub fn record(&self) -> &Record<R> {
        match self {
            Self::Created(record) | Self::Updated(_, record) | Self::Deleted(record) => record,
        }
    }

    /// The names of the changed fields, for the audit trail. Two columns may be known by one name.
    pub(super) fn fields(&self) -> Vec<&'static str> {
        let Self::Updated(before, after) = self else { return Vec::new() };
        let mut names: Vec<_> = after.fields.differing(&before.fields).into_iter().filter_map(R::known_as).collect();
        names.dedup();
        names
    }

    /// Whether one of [`Resource::LEADS_TO`] is set, or another one than before.
    pub(super) fn leads_elsewhere(&self) -> bool {
        match self {
            Self::Created(record) => {
                let members = record.fields.members();
                R::LEADS_TO.iter().filter_map(|name| members.get(*name)).any(is_set)
            }
            Self::Updated(..) => self.fields().iter().any(|name| R::LEADS_TO.contains(name)),
            Self::Deleted(_) => false,
        }
    }

    /// The value that `column` has now and did not have before; `None` for a deleted record.
    pub fn newly<T: PartialEq>(&self, column: impl Fn(&R) -> Option<T>) -> Option<T> {
        match self {
            Self::Created(record) => column(&record.fields),
            Self::Updated(before, after) => column(&after.fields).filter(|now| column(&before.fields).as_ref() != Some(now)),
            Self::Deleted(_) => None,
        }
    }
}

fn is_set(value: &Value) -> bool {
    !value.is_null() && value.as_array().is_none_or(|elements| !elements.is_empty())
}

/// A resource whose changes may publish events. Every change made through a [`RecordTransaction`] goes through this trait.
pub trait PublishesEvents: Resource {
    /// The events that changes may publish, for the catalogue; declared by [`events!`](crate::events).
    const EVENTS: &'static [EventDoc] = &[];

    /// Who may publish these events.
    const PUBLISHER: Publisher = Publisher::Company;

    /// The records that prevent the deletion of this one while they reference it.
    const REFERENCED_BY: &'static [ReferencedBy] = &[];

    /// The unique constraints of the table whose violation becomes a validation error.
    const UNIQUE: &'static [Unique] = &[];

    /// The record as the audit trail names it, for kinds whose changes are recorded there.
    const AUDITED_AS: Option<fn(Self::Id) -> ChangedRecord> = None;

    /// The events about `change`, each published once with the record as `data`. Empty if the change publishes nothing.
    fn events(_: &Change<'_, Self>) -> Vec<EventName> {
        Vec::new()
    }

    /// The events of a type that serves several kinds.
    fn events_in(_: &Self::State, change: &Change<'_, Self>) -> Vec<EventName> {
        Self::events(change)
    }

    /// Further consequences of `change`, in the same transaction and before its events are published. An error rolls the change back.
    fn follow_up(_: &mut RecordTransaction<Self::State>, _: &Change<'_, Self>) -> impl Future<Output = Result<(), Problem>> + Send {
        ready(Ok(()))
    }

    /// Evicts what is cached of the company's records of this kind, and nothing of other companies. Called after a transaction that changed one
    /// of them has been committed. Evicting before the commit would be too early: a look-up would cache the old record again.
    fn evict(_: &Self::State, _: CompanyId) {}
}

/// A new record.
#[derive(Debug)]
pub struct New<R> {
    /// The columns.
    pub fields: R,
    /// Fields that only the response to the creation contains, such as a secret.
    pub shown_once: Map<String, Value>,
}

impl<R> From<R> for New<R> {
    fn from(fields: R) -> Self {
        Self { fields, shown_once: Map::new() }
    }
}

/// A resource that clients can create, change and delete.
pub trait Editable: PublishesEvents {
    /// The request body of `POST` and `PUT`. Its fields are [`Member`](crate::resources::Member)s, so that `PUT` only changes those
    /// that are present. Declared with `#[serde(default, deny_unknown_fields)]`.
    type Body: DeserializeOwned + Clone + Send + Sync;

    /// Network requests that must be made before anything is written. No transaction is open yet.
    fn before_transaction(_: &Self::State, _: &Caller, _: &Self::Body) -> impl Future<Output = Result<(), Problem>> + Send {
        ready(Ok(()))
    }

    /// Builds the new record `id`.
    fn create(
        transaction: &mut RecordTransaction<Self::State>,
        id: Self::Id,
        body: Self::Body,
    ) -> impl Future<Output = Result<New<Self>, Problem>> + Send;

    /// Builds the changed record. The row of `before` is locked.
    fn change(
        transaction: &mut RecordTransaction<Self::State>,
        before: &Record<Self>,
        body: Self::Body,
    ) -> impl Future<Output = Result<Self, Problem>> + Send;
}

/// A resource whose request body is derived from its [`Fields`]. Each field is validated by its type; this trait validates the
/// fields against each other.
pub trait Validated: PublishesEvents + Fields {
    /// Validates the record that is about to be written, and fills in derived fields. `before` is the stored record, `None` for a
    /// new one. The referenced records are already locked.
    fn validate(
        _: &mut RecordTransaction<Self::State>,
        _before: Option<&Record<Self>>,
        _after: &mut Self,
    ) -> impl Future<Output = Result<(), Problem>> + Send {
        ready(Ok(()))
    }
}

impl<R: Validated> Editable for R {
    type Body = <R as Fields>::Body;

    async fn create(transaction: &mut RecordTransaction<R::State>, _: R::Id, body: Self::Body) -> Result<New<R>, Problem> {
        let mut new = R::created_by(body)?;
        let company = transaction.caller.company;
        new.lock_references(None, transaction.conn(), company).await?;
        R::validate(transaction, None, &mut new).await?;
        Ok(new.into())
    }

    async fn change(transaction: &mut RecordTransaction<R::State>, before: &Record<R>, body: Self::Body) -> Result<R, Problem> {
        let mut after = before.fields.changed_by(body);
        let company = transaction.caller.company;
        after.lock_references(Some(&before.fields), transaction.conn(), company).await?;
        R::validate(transaction, Some(before), &mut after).await?;
        Ok(after)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::kernel::ids::VehicleId;
    use crate::resources::kind::example::Storage;

    crate::fields! {
        /// A locker.
        #[derive(Default)]
        pub struct Locker, body LockerBody {
            /// The vehicle that carries the locker.
            vehicle_id as "vehicle": Option<crate::resources::Reference<VehicleId>>,
        }
        by_hand {
            /// The note at the door.
            note: Option<crate::resources::Line<20>> = |locker| locker.note.clone(),
        }
        hidden {
            /// The note.
            note: Option<String>,
            /// The code of the door, encrypted.
            #[known as "code"]
            sealed_code: Option<Vec<u8>>,
            /// How often it was opened.
            openings: i32,
        }
    }

    impl Resource for Locker {
        type Id = VehicleId;
        type State = Storage;

        const SINGULAR: &'static str = "locker";
        const PLURAL: &'static str = "lockers";
        const AREA: Area = Area::Business;
        const LEADS_TO: &'static [&'static str] = &["vehicle", "code"];
    }

    fn record(fields: Locker) -> Record<Locker> {
        let (id, now) = (Uuid::from_u128(7), chrono::DateTime::UNIX_EPOCH);
        Record { id: id.into(), company: CompanyId::from(id), version: 1, created_at: now, updated_at: now, fields }
    }

    #[test]
    fn a_change_is_told_by_the_names_that_clients_know() {
        let before = record(Locker::default());
        let vehicle_id = Some(VehicleId::from(Uuid::from_u128(7)));
        let after = record(Locker { vehicle_id, note: Some("Out".to_owned()), sealed_code: Some(vec![7]), openings: 1 });
        assert_eq!(Change::Updated(&before, &after).fields(), ["vehicle", "note", "code"]);
        assert_eq!(Change::Created(&after).fields(), [""; 0]);
    }

    #[test]
    fn a_record_leads_elsewhere_when_it_is_made_with_a_destination_or_gets_another_one() {
        let vehicle_id = Some(VehicleId::from(Uuid::from_u128(7)));
        let (nowhere, somewhere) = (record(Locker::default()), record(Locker { vehicle_id, ..Locker::default() }));
        let with_code = record(Locker { sealed_code: Some(vec![7]), ..somewhere.fields.clone() });
        let noted = record(Locker { note: Some("Out".to_owned()), ..somewhere.fields.clone() });
        assert!(!Change::Created(&nowhere).leads_elsewhere() && Change::Created(&somewhere).leads_elsewhere());
        assert!(Change::Updated(&nowhere, &somewhere).leads_elsewhere() && Change::Updated(&somewhere, &with_code).leads_elsewhere());
        assert!(!Change::Updated(&somewhere, &noted).leads_elsewhere() && !Change::Deleted(&somewhere).leads_elsewhere());
    }
}
