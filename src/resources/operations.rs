//! The five operations on records of one kind, for every caller: HTTP, the console and the command line.
//!
//! Each checks that the caller's grant contains all that the kind and the record reach, and works on the records of the caller's company
//! alone, which must exist. A change that the database has rolled back because of a conflict is made again.

use serde_json::{Map, Value};

use crate::callers::Caller;
use crate::companies::moving;
use crate::kernel::database::{Connection, repeated};
use crate::kernel::ids::{CompanyId, TypedId};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::resources::cursor::Cursor;
use crate::resources::followed;
use crate::resources::kind::queries;
use crate::resources::{Editable, IfMatch, ListParameters, Record, RecordTransaction, Resource, ResourceDescriptor, ResourceState, Shown};

/// A page of a list.
#[derive(Debug)]
pub struct Page<R: Resource> {
    /// The records, in the order of the list.
    pub records: Vec<Shown<R>>,
    /// Where the next page begins; `None` on the last page, unless the list is followed.
    pub next: Option<Cursor>,
}

/// The company that owns the record, for the command line: the id of a record is all that its commands are told.
pub async fn company_of<R: Resource>(state: &R::State, id: R::Id) -> Result<Option<CompanyId>, sqlx::Error> {
    queries::company_of::<R>(&mut state.pool().acquire().await?, id).await
}

/// One page of the records that match `parameters`.
pub async fn list<R: Resource>(state: &R::State, caller: &Caller, parameters: &ListParameters) -> Result<Page<R>, Problem> {
    R::require_reading(caller)?;
    let descriptor = &R::descriptor(state);
    if parameters.follow {
        return follow::<R>(state, caller, descriptor, parameters).await;
    }
    let withheld = &withheld::<R>(state, caller);
    let page = |mut conn: Connection| async move { read_page::<R>(&mut conn, caller, descriptor, parameters, withheld).await };
    Ok(state.pool().read(caller.who.id(), page).await?)
}

/// One page of a list that is followed. What a standby lacks yet would never be looked for again, so the primary is read.
async fn follow<R: Resource>(
    state: &R::State,
    caller: &Caller,
    descriptor: &ResourceDescriptor,
    parameters: &ListParameters,
) -> Result<Page<R>, Problem> {
    let settled = followed::settled(state.clock().now(), state.pool().limits());
    let mut conn = state.pool().acquire().await?;
    // What follows a company that has moved is as old as it was.
    moving::must_have_its_log(&mut conn, caller.company).await?;
    let page = read_page::<R>(&mut conn, caller, descriptor, parameters, &withheld::<R>(state, caller)).await?;
    Ok(Page { next: Some(followed::next(parameters.direction, parameters.after, page.next, settled)), ..page })
}

async fn read_page<R: Resource>(
    conn: &mut Connection,
    caller: &Caller,
    descriptor: &ResourceDescriptor,
    parameters: &ListParameters,
    withheld: &[String],
) -> Result<Page<R>, sqlx::Error> {
    let horizon = queries::find_horizon::<R>(conn, descriptor, caller.into(), parameters).await?;
    let mut records = queries::list::<R>(conn, descriptor, caller.into(), parameters, horizon, withheld).await?;
    let more = records.len() > usize::from(parameters.limit);
    records.truncate(parameters.limit.into());
    let direction = parameters.direction;
    let at = |record: &Record<R>| if direction.is_by_change() { record.updated_at } else { record.created_at };
    // Whoever follows the list waits after a page that is not full. Behind a full one there is always another, and be it empty: a list as long as so
    // many full pages would be read again and again otherwise.
    let goes_on = more || parameters.follow && records.len() == usize::from(parameters.limit);
    let last = records.last().filter(|_| goes_on).map(|last| Cursor::new(direction, at(last), last.id.into()));
    let mut records = Shown::many(conn, descriptor, records).await?;
    records.iter_mut().for_each(|shown| withhold(shown, caller, withheld));
    Ok(Page { records, next: last.or(horizon) })
}

/// The names of the events whose data the caller is not shown.
fn withheld<R: Resource>(state: &R::State, caller: &Caller) -> Vec<String> {
    R::catalogue(state).map_or_else(Vec::new, |catalogue| catalogue.names_beyond(&caller.grant))
}

/// Takes away what the caller is not shown: what lets somebody in, and the data of such an event. That there was one is no secret: an operator who
/// looks after deliveries has to see all of them.
fn withhold<R: Resource>(shown: &mut Shown<R>, caller: &Caller, withheld: &[String]) {
    if R::require(caller, R::writing()).is_err() {
        shown.members.retain(|name, _| !R::SHOWN_TO_WRITERS.contains(&name.as_str()));
    }
    let is_withheld = shown.members.get("event").and_then(Value::as_str).is_some_and(|event| withheld.iter().any(|name| name == event));
    if is_withheld {
        R::EVENT_DATA.iter().for_each(|path| erase(&mut shown.members, path));
    }
}

/// Makes the member null, if it is there. `attempts[].response_body` is that member of each element.
fn erase(members: &mut Map<String, Value>, path: &str) {
    match path.split_once("[].") {
        Some((list, within)) => {
            let elements = members.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
            elements.filter_map(Value::as_object_mut).for_each(|element| erase(element, within));
        }
        None => {
            if let Some(value) = members.get_mut(path) {
                *value = Value::Null;
            }
        }
    }
}

/// One record, with its [`Resource::details`].
pub async fn find<R: Resource>(state: &R::State, caller: &Caller, id: R::Id) -> Result<Shown<R>, Problem> {
    R::require_reading(caller)?;
    let descriptor = R::descriptor(state);
    let mut conn = state.pool().acquire().await?;
    let record = queries::find::<R>(&mut conn, &descriptor, caller.into(), id).await?.ok_or(ProblemCode::RecordNotFound)?;
    let details = R::details(state, caller, &mut conn, &record).await?;
    let mut shown = Shown::one(&mut conn, &descriptor, record).await?;
    shown.members.extend(details);
    withhold(&mut shown, caller, &withheld::<R>(state, caller));
    Ok(shown)
}

/// Creates a record. The fields that are [`shown_once`](crate::resources::New) are among those shown. They are secrets, so an operator has to have
/// proven a short time ago who they are.
pub async fn create<R: Editable>(state: &R::State, caller: &Caller, body: R::Body) -> Result<Shown<R>, Problem> {
    R::require(caller, R::writing())?;
    R::before_transaction(state, caller, &body).await?;
    repeated(async || {
        let mut transaction = RecordTransaction::begin(state, caller).await?;
        let id = R::Id::new(transaction.now);
        let new = R::create(&mut transaction, id, body.clone()).await?;
        new.fields.require_reach(state, caller)?;
        if !new.shown_once.is_empty() {
            caller.require_proof()?;
        }
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
    R::require(caller, R::writing())?;
    R::before_transaction(state, caller, &body).await?;
    repeated(async || {
        let mut transaction = RecordTransaction::begin(state, caller).await?;
        let before = transaction.lock::<R>(id).await?;
        version.check(before.version)?;
        // What it reached before counts too: a webhook that is moved sends the same events to another address.
        before.fields.require_reach(state, caller)?;
        let after = R::change(&mut transaction, &before, body.clone()).await?;
        after.require_reach(state, caller)?;
        let shown = transaction.update(before, after).await?;
        transaction.commit().await?;
        Ok(shown)
    })
    .await
}

/// Deletes a record, if its version is the one that the caller has read.
pub async fn delete<R: Editable>(state: &R::State, caller: &Caller, id: R::Id, version: &IfMatch) -> Result<Shown<R>, Problem> {
    R::require_deleting(caller)?;
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_withheld_is_null_in_each_element_of_a_list() {
        let delivery =
            json!({ "event": "customer.updated", "payload": {}, "attempts": [{ "status": 200, "body": "Ada" }, { "body": "Ada" }] });
        let Value::Object(mut members) = delivery else { unreachable!("it is written as an object above") };
        for path in ["payload", "attempts[].body", "attempts[].absent", "absent", "absent[].body", "event[].body"] {
            erase(&mut members, path);
        }
        let left = json!({ "event": "customer.updated", "payload": null, "attempts": [{ "status": 200, "body": null }, { "body": null }] });
        assert_eq!(Value::Object(members), left);
    }
}
