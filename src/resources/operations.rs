//! The five operations on records of one kind, for every caller: HTTP, the console and the command line.
//!
//! Each checks that the caller's grant contains the scope of the kind, and works on the records of the caller's company alone, which
//! must exist. A change that the database has rolled back because of a conflict is made again.

use crate::callers::Caller;
use crate::kernel::database::{Connection, repeated};
use crate::kernel::ids::{CompanyId, TypedId};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::resources::cursor::Cursor;
use crate::resources::kind::queries;
use crate::resources::{Editable, IfMatch, ListParameters, RecordTransaction, Resource, ResourceState, Shown};

/// A page of a list.
#[derive(Debug)]
pub struct Page<R: Resource> {
    /// The records, in the order of the list.
    pub records: Vec<Shown<R>>,
    /// Where the next page begins; `None` on the last page.
    pub next: Option<Cursor>,
}

/// The company that owns the record, for the command line: the id of a record is all that its commands are told.
pub async fn company_of<R: Resource>(state: &R::State, id: R::Id) -> Result<Option<CompanyId>, sqlx::Error> {
    queries::company_of::<R>(&mut state.pool().acquire().await?, id).await
}

/// One page of the records that match `parameters`.
pub async fn list<R: Resource>(state: &R::State, caller: &Caller, parameters: &ListParameters) -> Result<Page<R>, Problem> {
    R::require(caller, R::READING)?;
    let descriptor = &R::descriptor(state);
    let page = |mut conn: Connection| async move {
        let horizon = queries::find_horizon::<R>(&mut conn, descriptor, caller.into(), parameters).await?;
        let mut records = queries::list::<R>(&mut conn, descriptor, caller.into(), parameters, horizon).await?;
        let more = records.len() > usize::from(parameters.limit);
        records.truncate(parameters.limit.into());
        let last = records.last().filter(|_| more);
        let next = last.map(|last| Cursor { direction: parameters.direction, created_at: last.created_at, id: last.id.into() }).or(horizon);
        Ok(Page { records: Shown::many(&mut conn, descriptor, records).await?, next })
    };
    Ok(state.pool().read(caller.who.id(), page).await?)
}

/// One record, with its [`Resource::details`].
pub async fn find<R: Resource>(state: &R::State, caller: &Caller, id: R::Id) -> Result<Shown<R>, Problem> {
    R::require(caller, R::READING)?;
    let descriptor = R::descriptor(state);
    let mut conn = state.pool().acquire().await?;
    let record = queries::find::<R>(&mut conn, &descriptor, caller.into(), id).await?.ok_or(ProblemCode::RecordNotFound)?;
    let details = R::details(state, caller, &mut conn, &record).await?;
    let mut shown = Shown::one(&mut conn, &descriptor, record).await?;
    shown.members.extend(details);
    Ok(shown)
}

/// Creates a record. The fields that are [`shown_once`](crate::resources::New) are among those shown.
pub async fn create<R: Editable>(state: &R::State, caller: &Caller, body: R::Body) -> Result<Shown<R>, Problem> {
    R::require(caller, R::WRITING)?;
    R::before_transaction(state, caller, &body).await?;
    repeated(async || {
        let mut transaction = RecordTransaction::begin(state, caller).await?;
        let id = R::Id::new(transaction.now);
        let new = R::create(&mut transaction, id, body.clone()).await?;
        let mut shown = transaction.insert(id, new.fields).await?;
        transaction.commit().await?;
        shown.members.extend(new.shown_once);
        Ok(shown)
    })
    .await
}

/// Changes a record, if its version is the one that the caller has read.
pub async fn update<R: Editable>(
    state: &R::State,
    caller: &Caller,
    id: R::Id,
    version: &IfMatch,
    body: R::Body,
) -> Result<Shown<R>, Problem> {
    R::require(caller, R::WRITING)?;
    R::before_transaction(state, caller, &body).await?;
    repeated(async || {
        let mut transaction = RecordTransaction::begin(state, caller).await?;
        let before = transaction.lock::<R>(id).await?;
        version.check(before.version)?;
        let after = R::change(&mut transaction, &before, body.clone()).await?;
        let shown = transaction.update(before, after).await?;
        transaction.commit().await?;
        Ok(shown)
    })
    .await
}

/// Deletes a record, if its version is the one that the caller has read.
pub async fn delete<R: Editable>(state: &R::State, caller: &Caller, id: R::Id, version: &IfMatch) -> Result<Shown<R>, Problem> {
    R::require(caller, R::WRITING)?;
    repeated(async || {
        let mut transaction = RecordTransaction::begin(state, caller).await?;
        let record = transaction.lock::<R>(id).await?;
        version.check(record.version)?;
        let shown = transaction.delete(record).await?;
        transaction.commit().await?;
        Ok(shown)
    })
    .await
}
