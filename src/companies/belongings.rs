//! What belongs to a company: its rows in the tables of all owners. Deleting and moving a company go through them.

use crate::kernel::database::Connection;

/// The table whose rows belong to those of others,
pub const ATTEMPTS: &str = "attempts";
/// and these others.
pub(super) const HAVE_ATTEMPTS: [&str; 3] = ["waiting", "in_flight", "deliveries"];

/// The table that says how far a move is. Until the last row of a company is deleted, somebody may have to know.
pub(super) const MOVES: &str = "company_moves";

/// Tables whose rows refer to others of the same table, and which rows no other one refers to.
pub(super) const LEAVES: [(&str, &str); 2] = [
    ("fleets", "not exists (select from fleets as part where part.parent_id = fleets.id)"),
    ("api_keys", "not exists (select from api_keys as newer where newer.replaces = api_keys.id)"),
];

const OWN: &str = "company_id = $1";
const OF_SUBSCRIPTIONS: &str = "subscription_id in (select id from subscriptions where company_id = $1)";
const OF_STORES: &str = "store_id in (select id from stores where company_id = $1)";
const OF_OPERATORS: &str = "operator_id in (select id from operators where company_id = $1)";

/// Every table that has rows of companies, and which of them are those of the company `$1`. What refers to other rows goes before them.
/// `tests/real/platform/companies.rs` compares the list with the schema.
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
    ("fleets", OWN),
    ("declared_records", OWN),
    ("devices", OF_STORES),
    ("contact_changes", OF_STORES),
    ("seen_devices", OF_STORES),
    ("notices", OF_STORES),
    ("provider_links", OF_STORES),
    ("provider_grants", OF_STORES),
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
    ("operator_notices", OF_OPERATORS),
    ("operator_links", OF_OPERATORS),
    ("operator_choices", OF_OPERATORS),
    ("operator_recovery_codes", OF_OPERATORS),
    ("operator_sessions", OF_OPERATORS),
    ("operators", OWN),
    ("api_keys", OWN),
    ("changes", OWN),
    (MOVES, OWN),
];

/// A partition of a table, or the table.
pub(super) struct Part {
    pub(super) part: String,
    /// The columns of its primary key: `company_id, hour`.
    pub(super) key: String,
}

/// The parts of a table. Rows of one are found by its own index, and never looked for in the others.
pub(super) async fn parts(conn: &mut Connection, table: &str) -> Result<Vec<Part>, sqlx::Error> {
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
