//! What a room says about a kind of record, in three steps: how it is read, what its changes announce, how a body edits it.

use std::future::{Future, ready};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use sqlx::{PgConnection, PgPool};

use crate::companies::Scope;
use crate::events::EventName;
use crate::kernel::clock::Clock;
use crate::kernel::ids::TypedId;
use crate::kernel::problem::Problem;
use crate::resources::{Columns, Described, Edit, Fields, Filter, NeededBy, Record, Terms, Unique};

/// The members of records, in the order of the records.
pub type Presented = Result<Vec<Map<String, Value>>, sqlx::Error>;

/// The state of the room a resource belongs to.
pub trait Room: Clone + Send + Sync + 'static {
    /// The database.
    fn pool(&self) -> &PgPool;
    /// The time.
    fn clock(&self) -> &Clock;

    /// Called once an [`Edit`] has been committed, for what the room remembers of its records. Earlier would be too early: what is
    /// looked up before the commit is still as it was.
    fn forget_what_changed(&self) {}
}

/// A kind of record that is listed and found by `GET`.
pub trait Resource: Columns {
    /// The type of its ids.
    type Id: TypedId;
    /// The state of its room.
    type Room: Room;

    /// One of them, as JSON names it: `tracking_number`.
    const SINGULAR: &'static str;
    /// Many of them, as JSON names them: `tracking_numbers`. In the path the words are joined by `-`.
    const PLURAL: &'static str;
    /// The table, or the view that gives it the form of one.
    const TABLE: &'static str = Self::PLURAL;
    /// The parameters a list can be narrowed by.
    const FILTERS: &'static [Filter] = &[];
    /// The columns of text that `query` searches.
    const SEARCH: &'static [&'static str] = &[];
    /// The column that has to be narrowed before `query` may be asked, where searching reads what it searches: no index helps, so it looks
    /// at some thousand records a page and goes on in the next.
    const SEARCH_WITHIN: Option<&'static str> = None;

    /// What a key needs to list and find them.
    const READING: Scope = Scope::Read;
    /// What a key needs to create, change and delete them.
    const WRITING: Scope = Scope::Write;

    /// What the kind is called in this room. A type that stands for one kind says it above.
    fn terms(_: &Self::Room) -> Terms {
        Terms::of::<Self>()
    }

    /// The resource's own members of a record, where they follow from it alone. `id`, `uuid`, `created_at` and `updated_at` are added to
    /// them, and `meta` where they have none.
    fn shown(&self) -> Map<String, Value> {
        Map::new()
    }

    /// The same of each record, in the same order; said instead, where other records have to be asked. Takes many, so that what is shown of
    /// them costs one statement a list.
    fn present(_: &mut PgConnection, records: &[Record<Self>]) -> impl Future<Output = Presented> + Send {
        ready(Ok(records.iter().map(|record| record.fields.shown()).collect()))
    }

    /// The members that are shown and never sent, for the documentation; those of [`Resource::details`] among them.
    fn shown_beside() -> Vec<Described> {
        Vec::new()
    }

    /// Members that only the answer to `GET …/{uuid}` has: what would be too much for a list.
    fn details(
        _: &Self::Room,
        _: &mut PgConnection,
        _: &Record<Self>,
    ) -> impl Future<Output = Result<Map<String, Value>, sqlx::Error>> + Send {
        ready(Ok(Map::new()))
    }
}

/// What happens to a record.
#[derive(Debug)]
pub enum Change<'a, R: Resource> {
    /// It is new.
    Created(&'a Record<R>),
    /// It was the first and is the second, and these differ.
    Updated(&'a Record<R>, &'a Record<R>),
    /// It is gone; this is what it was.
    Deleted(&'a Record<R>),
}

impl<R: Resource> Change<'_, R> {
    /// The record as it is now, or was last.
    pub fn record(&self) -> &Record<R> {
        match self {
            Self::Created(record) | Self::Updated(_, record) | Self::Deleted(record) => record,
        }
    }

    /// What `column` holds now and did not hold before; nothing of a record that is gone.
    pub fn newly<T: PartialEq>(&self, column: impl Fn(&R) -> Option<T>) -> Option<T> {
        match self {
            Self::Created(record) => column(&record.fields),
            Self::Updated(before, after) => column(&after.fields).filter(|now| column(&before.fields).as_ref() != Some(now)),
            Self::Deleted(_) => None,
        }
    }
}

/// A resource whose changes mean something to others. Every change made through an [`Edit`] goes through here, whoever makes it.
pub trait Announced: Resource {
    /// The records that keep this one from being deleted while they name it.
    const NEEDED_BY: &'static [NeededBy] = &[];

    /// What no two records have in common.
    const UNIQUE: &'static [Unique] = &[];

    /// The events that tell of `change`, each published once with the record as `data`; none, where it means nothing to others.
    fn events(_: &Change<'_, Self>) -> Vec<EventName> {
        Vec::new()
    }

    /// The same, of a type that stands for many kinds.
    fn events_in(_: &Self::Room, change: &Change<'_, Self>) -> Vec<EventName> {
        Self::events(change)
    }

    /// What else `change` brings about, in the same transaction and before its events are published. A refusal undoes the change.
    fn follow_up(_: &mut Edit<Self::Room>, _: &Change<'_, Self>) -> impl Future<Output = Result<(), Problem>> + Send {
        ready(Ok(()))
    }
}

/// What a new record holds.
#[derive(Debug)]
pub struct New<R> {
    /// The columns.
    pub fields: R,
    /// Members that the answer to the creation shows and nobody ever sees again, such as a secret.
    pub shown_once: Map<String, Value>,
}

impl<R> From<R> for New<R> {
    fn from(fields: R) -> Self {
        Self { fields, shown_once: Map::new() }
    }
}

/// A resource that is created, changed and deleted from outside.
pub trait Editable: Announced {
    /// What `POST` and `PUT` take. Members are [`Member`](crate::resources::Member)s, so that `PUT` changes those that were sent;
    /// declared with `#[serde(default, deny_unknown_fields)]`.
    type Body: DeserializeOwned + Send + Sync;

    /// Every member, for the documentation.
    fn documented() -> Vec<Described> {
        Self::shown_beside()
    }

    /// What has to be asked of the network before anything is written; no transaction is open yet.
    fn before_transaction(_: &Self::Room, _: &Self::Body) -> impl Future<Output = Result<(), Problem>> + Send {
        ready(Ok(()))
    }

    /// What the new record `id` will hold.
    fn create(edit: &mut Edit<Self::Room>, id: Self::Id, body: Self::Body) -> impl Future<Output = Result<New<Self>, Problem>> + Send;

    /// What the record, whose row is locked, will hold instead.
    fn change(edit: &mut Edit<Self::Room>, before: &Record<Self>, body: Self::Body) -> impl Future<Output = Result<Self, Problem>> + Send;
}

/// A resource whose body is its [`Fields`]: what each member may be is known, what it may be beside the others is said here.
pub trait Ruled: Announced + Fields {
    /// Judges what a record is about to hold, and completes it with what follows. `before` is what it holds now; nothing, if it is new.
    /// The records it names are held already.
    fn rules(
        _: &mut Edit<Self::Room>,
        _before: Option<&Record<Self>>,
        _after: &mut Self,
    ) -> impl Future<Output = Result<(), Problem>> + Send {
        ready(Ok(()))
    }
}

impl<R: Ruled> Editable for R {
    type Body = <R as Fields>::Body;

    fn documented() -> Vec<Described> {
        R::described().into_iter().chain(R::shown_beside()).collect()
    }

    async fn create(edit: &mut Edit<R::Room>, _: R::Id, body: Self::Body) -> Result<New<R>, Problem> {
        let mut new = R::created_by(body)?;
        let company = edit.company;
        new.hold_links(None, edit.conn(), company).await?;
        R::rules(edit, None, &mut new).await?;
        Ok(new.into())
    }

    async fn change(edit: &mut Edit<R::Room>, before: &Record<R>, body: Self::Body) -> Result<R, Problem> {
        let mut after = before.fields.changed_by(body);
        let company = edit.company;
        after.hold_links(Some(&before.fields), edit.conn(), company).await?;
        R::rules(edit, Some(before), &mut after).await?;
        Ok(after)
    }
}
