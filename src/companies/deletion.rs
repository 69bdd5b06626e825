//! Deleting a company: everything that belongs to it, in batches.
//!
//! This is the one place that empties tables of other owners. Nothing follows from it, neither events nor entries in the audit trail: what
//! would tell of it goes as well. A table is emptied by a statement of its own for each batch, so nothing is locked for long, and a deletion
//! that was interrupted is continued by another one. Attempts do not know their company, so they go with the deliveries of each batch. The
//! company itself goes last; until then it is suspended, so nobody adds to it but what was under way, and the tables are gone through until
//! nothing is found. Who resumes it meanwhile ends the deletion.

use std::collections::BTreeMap;

use sqlx::AssertSqlSafe;

use crate::companies::suspension::is_suspended;
use crate::kernel::database::Connection;
use crate::kernel::ids::CompanyId;

/// The number of rows that one statement deletes.
const BATCH: i64 = 1_000;

/// The table whose rows go with those of others,
pub const ATTEMPTS: &str = "attempts";
/// and these others.
const HAVE_ATTEMPTS: [&str; 3] = ["waiting", "in_flight", "deliveries"];

const OWN: &str = "company_id = $1";
const OF_SUBSCRIPTIONS: &str = "subscription_id in (select id from subscriptions where company_id = $1)";
const OF_STORES: &str = "store_id in (select id from stores where company_id = $1)";
const OF_OPERATORS: &str = "operator_id in (select id from operators where company_id = $1)";

/// Every table that has rows of companies, and which of them are those of the company `$1`. What refers to other rows goes before them.
/// `tests/it/platform/companies.rs` compares the list with the schema.
pub const TABLES: &[(&str, &str)] = &[
    ("outbox", OWN),
    ("waiting", OWN),
    ("in_flight", OWN),
    ("deliveries", OWN),
    ("attempt_hours", OWN),
    ("replays", OWN),
    ("replay_keys", OWN),
    ("operator_letters", OF_SUBSCRIPTIONS),
    ("endpoints", OF_SUBSCRIPTIONS),
    ("subscriptions", OWN),
    ("portal_sessions", "link_id in (select id from portal_links where company_id = $1)"),
    ("portal_links", OWN),
    ("events", OWN),
    ("event_sequences", OWN),
    ("feed", OWN),
    ("feed_heads", OWN),
    ("event_hours", OWN),
    ("publishing_keys", OWN),
    ("payment_facts", "payment_id in (select id from payments where company_id = $1)"),
    ("payments", OWN),
    ("callbacks", OWN),
    ("reconciliations", "gateway_id in (select id from gateways where company_id = $1)"),
    ("card_customers", "gateway_id in (select id from gateways where company_id = $1)"),
    ("gateways", OWN),
    ("proofs", OWN),
    ("issues", OWN),
    ("tracking_statuses", OWN),
    ("tracking_numbers", OWN),
    ("orders", OWN),
    ("vehicles", OWN),
    ("drivers", OWN),
    ("fleets", "company_id = $1 and not exists (select from fleets as part where part.parent_id = fleets.id)"),
    ("declared_records", OWN),
    ("devices", OF_STORES),
    ("contact_changes", OF_STORES),
    ("seen_devices", OF_STORES),
    ("notices", OF_STORES),
    ("provider_links", OF_STORES),
    ("used_identity_tokens", OF_STORES),
    ("passkeys", OF_STORES),
    ("passkey_users", OF_STORES),
    ("answered_challenges", OF_STORES),
    ("verification_codes", OF_STORES),
    ("wrong_codes", OF_STORES),
    ("wrong_passwords", OF_STORES),
    ("known_clients", OF_STORES),
    ("pending_sign_ins", OF_STORES),
    ("customer_recovery_codes", OF_STORES),
    ("authenticators", OF_STORES),
    ("texts", OF_STORES),
    ("text_pauses", OF_STORES),
    ("text_minutes", OF_STORES),
    ("text_guards", OF_STORES),
    ("text_hours", OWN),
    ("customer_tokens", OWN),
    ("sign_ins", OF_STORES),
    ("sign_in_hours", OWN),
    ("customers", OF_STORES),
    ("test_identities", OWN),
    ("identity_providers", OWN),
    ("registration_hooks", OWN),
    ("message_providers", OWN),
    ("message_wordings", OWN),
    ("store_keys", OF_STORES),
    ("stores", OWN),
    ("operator_mails", OF_OPERATORS),
    ("operator_links", OF_OPERATORS),
    ("operator_recovery_codes", OF_OPERATORS),
    ("operator_sessions", OF_OPERATORS),
    ("operators", OWN),
    ("api_keys", "company_id = $1 and not exists (select from api_keys as newer where newer.replaces = api_keys.id)"),
    ("changes", OWN),
];

/// Why a company is not deleted.
#[derive(Debug, thiserror::Error)]
pub enum DeletionError {
    /// It is not suspended, so its customers and servers still use it.
    #[error("the company is not suspended: only a company that is suspended can be deleted")]
    NotSuspended,
    /// The database failed. What was deleted until then stays deleted.
    #[error("the database could not be used")]
    Database(#[from] sqlx::Error),
}

/// A deletion under way.
#[derive(Debug)]
pub struct Deletion {
    company: CompanyId,
    /// The table that is emptied.
    at: usize,
    /// Whether anything was found since the first table.
    found: bool,
    report: BTreeMap<&'static str, u64>,
}

impl Deletion {
    /// Begins to delete a company that is suspended, or continues.
    pub async fn begin(conn: &mut Connection, company: CompanyId) -> Result<Self, DeletionError> {
        match is_suspended(conn, company).await? {
            true => Ok(Self { company, at: 0, found: false, report: BTreeMap::new() }),
            false => Err(DeletionError::NotSuspended),
        }
    }

    /// Deletes a batch. Returns how many rows it had, or `None` once nothing is left and the company itself is deleted.
    pub async fn next_batch(&mut self, conn: &mut Connection) -> Result<Option<u64>, DeletionError> {
        if !is_suspended(conn, self.company).await? {
            return Err(DeletionError::NotSuspended);
        }
        if let Some(&(table, rows)) = TABLES.get(self.at) {
            let Batch { deleted, attempts } = delete_batch(conn, table, rows, self.company).await?;
            if deleted == 0 {
                self.at += 1;
            } else {
                self.found = true;
                *self.report.entry(table).or_default() += deleted;
            }
            if attempts > 0 {
                *self.report.entry(ATTEMPTS).or_default() += attempts;
            }
            return Ok(Some(deleted + attempts));
        }
        if self.found {
            // What was under way may have been written meanwhile.
            (self.at, self.found) = (0, false);
            return Ok(Some(0));
        }
        let company = sqlx::query!("delete from companies where id = $1 and suspended_at is not null", self.company.uuid());
        if company.execute(conn).await?.rows_affected() == 0 {
            return Err(DeletionError::NotSuspended);
        }
        self.report.insert("companies", 1);
        Ok(None)
    }

    /// How many rows were deleted, by table.
    pub fn report(&self) -> &BTreeMap<&'static str, u64> {
        &self.report
    }
}

/// The rows of a batch, and the attempts that went with its deliveries.
#[derive(Default)]
struct Batch {
    deleted: u64,
    attempts: u64,
}

/// Deletes up to [`BATCH`] rows from each part of a table. The names are those of this module and of the database.
async fn delete_batch(conn: &mut Connection, table: &str, rows: &str, company: CompanyId) -> Result<Batch, sqlx::Error> {
    let mut batch = Batch::default();
    for Part { part, key } in parts(conn, table).await? {
        // An attempt goes with its delivery, wherever that is.
        let attempts = match HAVE_ATTEMPTS.contains(&table) {
            true => format!("delete from {ATTEMPTS} where delivery_id = any(array(select id from chosen)) returning 1"),
            false => "select 1 where false".to_owned(),
        };
        let statement = format!(
            "with chosen as materialized (select {key} from {part} as {table} where {rows} limit {BATCH}),
                  attempts_gone as ({attempts}),
                  gone as (delete from {part} where ({key}) in (select {key} from chosen) returning 1)
             select (select count(*) from gone), (select count(*) from attempts_gone)"
        );
        let deleted: (i64, i64) = sqlx::query_as(AssertSqlSafe(statement)).bind(company.uuid()).fetch_one(&mut *conn).await?;
        batch.deleted += deleted.0.unsigned_abs();
        batch.attempts += deleted.1.unsigned_abs();
    }
    Ok(batch)
}

/// A partition of a table, or the table.
struct Part {
    part: String,
    /// The columns of its primary key: `company_id, hour`.
    key: String,
}

/// The parts of a table. Rows of one are found by its own index, and never looked for in the others.
async fn parts(conn: &mut Connection, table: &str) -> Result<Vec<Part>, sqlx::Error> {
    let parts = sqlx::query_as!(
        Part,
        r#"select relid::text as "part!", string_agg(attname::text, ', ' order by attnum) as "key!"
           from (select relid from pg_partition_tree($1::text::regclass) union select $1::text::regclass) as relation
           join pg_class on pg_class.oid = relid and relkind = 'r'
           join pg_index on indrelid = relid and indisprimary
           join pg_attribute on attrelid = relid and attnum = any(indkey)
           group by relid order by relid"#,
        table,
    );
    parts.fetch_all(conn).await
}
