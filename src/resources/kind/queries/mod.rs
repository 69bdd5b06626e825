//! The SQL of every resource; that of lists is in [`lists`]. The text of a statement consists only of constants of the program, the names that a [`Resource`]
//! declares. Every value that comes from outside is bound.

mod lists;

use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::{Postgres, QueryBuilder};
use uuid::Uuid;

use crate::callers::{Caller, Owner};
use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, CustomerId};
use crate::resources::{Owned, Record, Referable, Resource, ResourceDescriptor};

pub use lists::{MAX_SCANNED_RECORDS, find_horizon, list};

fn columns<R: Resource>() -> String {
    format!("id, company_id, version, created_at, updated_at, {}", R::COLUMNS.join(", "))
}

/// Whose records a statement reaches: those of a company, or of one of its owners alone.
#[derive(Clone, Copy, Debug)]
pub struct Whose<'a> {
    company: CompanyId,
    owner: Option<&'a Owner>,
}

impl From<CompanyId> for Whose<'_> {
    fn from(company: CompanyId) -> Self {
        Self { company, owner: None }
    }
}

impl<'a> From<&'a Caller> for Whose<'a> {
    fn from(caller: &'a Caller) -> Self {
        Self { company: caller.company, owner: caller.grant.owner.as_ref() }
    }
}

/// Selects those live records; further conditions may be appended.
fn select<R: Resource>(descriptor: &ResourceDescriptor, whose: Whose<'_>) -> QueryBuilder<Postgres> {
    live_of::<R>(&columns::<R>(), descriptor, whose)
}

fn live_of<R: Resource>(columns: &str, descriptor: &ResourceDescriptor, whose: Whose<'_>) -> QueryBuilder<Postgres> {
    let mut sql = live(columns, R::TABLE, descriptor.discriminator, whose.company);
    match (whose.owner, R::OWNED) {
        (None, _) => {}
        (Some(owner), Some(Owned::Itself)) => drop(sql.push(" and owner = ").push_bind(owner.as_str())),
        (Some(owner), Some(Owned::By { view, key })) => {
            sql.push(format!(" and {key} = any(array(select {key} from {view} where company_id = "));
            sql.push_bind(whose.company.uuid()).push(" and owner = ").push_bind(owner.as_str()).push("))");
        }
        // Callers have been refused before. Should one not have been, there is nothing for them.
        (Some(_), None) => drop(sql.push(" and false")),
    }
    sql
}

fn select_one<R: Resource>(descriptor: &ResourceDescriptor, whose: Whose<'_>, id: R::Id) -> QueryBuilder<Postgres> {
    let mut sql = select::<R>(descriptor, whose);
    sql.push(" and id = ").push_bind::<Uuid>(id.into());
    sql
}

fn live(columns: &str, table: &str, discriminator: Option<(&str, &str)>, company: CompanyId) -> QueryBuilder<Postgres> {
    let mut sql = QueryBuilder::new(format!("select {columns} from {table} where deleted_at is null and company_id = "));
    sql.push_bind(company.uuid());
    if let Some((column, word)) = discriminator {
        // Written as a literal, so that a partial index on this kind can be used.
        sql.push(format!(" and {column} = '{word}'"));
    }
    sql
}

/// The company that owns the record.
pub async fn company_of<R: Resource>(conn: &mut Connection, id: R::Id) -> Result<Option<CompanyId>, sqlx::Error> {
    let mut sql = QueryBuilder::new(format!("select company_id from {} where deleted_at is null and id = ", R::TABLE));
    sql.push_bind::<Uuid>(id.into()).build_query_scalar().fetch_optional(conn).await
}

/// Returns the record as it is now.
pub async fn find<R: Resource>(
    conn: &mut Connection,
    descriptor: &ResourceDescriptor,
    whose: Whose<'_>,
    id: R::Id,
) -> Result<Option<Record<R>>, sqlx::Error> {
    select_one::<R>(descriptor, whose, id).build_query_as().fetch_optional(conn).await
}

/// Returns the record with a shared row lock: other transactions can read it and share the lock, but neither change nor delete it
/// until this transaction ends.
pub async fn lock_shared<R: Resource>(
    conn: &mut Connection,
    descriptor: &ResourceDescriptor,
    whose: Whose<'_>,
    id: R::Id,
) -> Result<Option<Record<R>>, sqlx::Error> {
    select_one::<R>(descriptor, whose, id).push(" for share").build_query_as().fetch_optional(conn).await
}

/// Whether the record exists. Takes a shared row lock if records of its kind can be deleted.
pub async fn lock_referable(conn: &mut Connection, kind: &Referable, company: CompanyId, id: Uuid) -> Result<bool, sqlx::Error> {
    let mut sql = live("id", kind.table, kind.discriminator, company);
    sql.push(" and id = ").push_bind(id);
    if kind.deletable {
        sql.push(" for share");
    }
    Ok(sql.build().fetch_optional(conn).await?.is_some())
}

/// Returns the records with these ids and locks their rows until the transaction ends. The rows are always locked in id order, so
/// that two transactions on the same records wait for each other instead of deadlocking. The lock mode does not block foreign keys
/// that reference the row.
pub async fn lock_all<R: Resource>(
    conn: &mut Connection,
    descriptor: &ResourceDescriptor,
    whose: Whose<'_>,
    ids: &[R::Id],
) -> Result<Vec<Record<R>>, sqlx::Error> {
    let ids: Vec<Uuid> = ids.iter().map(|id| (*id).into()).collect();
    let mut sql = select::<R>(descriptor, whose);
    sql.push(" and id = any(").push_bind(ids).push(") order by id for no key update");
    sql.build_query_as().fetch_all(conn).await
}

/// The same for one record. Its own statement, because PostgreSQL would plan one with an array of ids again each time.
pub async fn lock<R: Resource>(
    conn: &mut Connection,
    descriptor: &ResourceDescriptor,
    whose: Whose<'_>,
    id: R::Id,
) -> Result<Option<Record<R>>, sqlx::Error> {
    select_one::<R>(descriptor, whose, id).push(" for no key update").build_query_as().fetch_optional(conn).await
}

/// Inserts the first version of a record.
pub async fn insert<R: Resource>(
    conn: &mut Connection,
    company: CompanyId,
    id: R::Id,
    fields: &R,
    now: DateTime<Utc>,
) -> Result<Record<R>, sqlx::Error> {
    let columns = columns::<R>();
    let mut sql = QueryBuilder::new(format!("insert into {} ({columns}) values (", R::TABLE));
    let mut values = sql.separated(", ");
    values.push_bind::<Uuid>(id.into()).push_bind(company.uuid()).push_bind(1_i64).push_bind(now).push_bind(now);
    fields.bind(&mut values);
    sql.push(format!(") returning {columns}"));
    sql.build_query_as().fetch_one(conn).await
}

/// Writes the next version of a record.
pub async fn update<R: Resource>(conn: &mut Connection, id: R::Id, fields: &R, now: DateTime<Utc>) -> Result<Record<R>, sqlx::Error> {
    let mut sql = QueryBuilder::new(format!("update {} set version = version + 1, updated_at = ", R::TABLE));
    sql.push_bind(now).push(format!(", ({}) = row(", R::COLUMNS.join(", ")));
    fields.bind(&mut sql.separated(", "));
    sql.push(") where id = ").push_bind::<Uuid>(id.into()).push(format!(" returning {}", columns::<R>()));
    sql.build_query_as().fetch_one(conn).await
}

/// Deletes the record. Its row stays, for what refers to it.
pub async fn mark_deleted<R: Resource>(conn: &mut Connection, id: R::Id, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    let mut sql = QueryBuilder::new(format!("update {} set version = version + 1, deleted_at = ", R::TABLE));
    sql.push_bind(now).push(", updated_at = ").push_bind(now).push(" where id = ").push_bind::<Uuid>(id.into());
    sql.build().execute(conn).await?;
    Ok(())
}

/// How many records a company has.
pub async fn count_of<R: Resource>(conn: &mut Connection, company: CompanyId) -> Result<i64, sqlx::Error> {
    let mut sql = QueryBuilder::new(format!("select count(*) from {} where deleted_at is null and company_id = ", R::TABLE));
    sql.push_bind(company.uuid()).build_query_scalar().fetch_one(conn).await
}

/// Returns every record of the customer as JSON, including deleted ones, for the export. The table has a column `customer_id`.
pub async fn export_of<R: Resource>(conn: &mut Connection, company: CompanyId, customer: CustomerId) -> Result<Value, sqlx::Error> {
    let record = format!("to_jsonb({}) - 'version'", R::TABLE);
    let mut sql = QueryBuilder::new(format!("select coalesce(jsonb_agg({record} order by created_at, id), '[]') from {}", R::TABLE));
    sql.push(" where company_id = ").push_bind(company.uuid()).push(" and customer_id = ").push_bind(customer.uuid());
    sql.build_query_scalar().fetch_one(conn).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::kind::example::Shelf;

    #[test]
    fn statements_hold_the_names_of_the_program_and_no_values() {
        let (descriptor, company) = (ResourceDescriptor::of::<Shelf>(), CompanyId::from(Uuid::from_u128(7)));
        assert_eq!(
            select::<Shelf>(&descriptor, company.into()).into_string(),
            "select id, company_id, version, created_at, updated_at, label, full, vehicle_id from book_shelves \
             where deleted_at is null and company_id = $1"
        );
        // A kind without owners has nothing for whoever is restricted to one.
        let owner = "7".to_owned().try_into().unwrap();
        assert!(select::<Shelf>(&descriptor, Whose { company, owner: Some(&owner) }).into_string().ends_with(" and false"));
    }
}
