//! The SQL asks for nothing that a distributed PostgreSQL lacks (`docs/scaling.md`, "One distributed PostgreSQL"). Functions are refused by
//! the databases of all stories (`tests/it/support/portable.rs`); commands, system columns and levels of isolation are looked for here.

use crate::architecture::sources::{migrations, sources, statement_files, without_comments, without_remarks};

/// The first migration of which nothing may have been applied without this rule.
const FIRST: &str = "20261203";

/// What is not there, as words in a row, and what to do instead.
const MISSING: &[(&[&str], &str)] = &[
    (&["lock", "table"], "lock a row that stands for it"),
    (&["pg_advisory_lock"], "take a lease (kernel/leases)"),
    (&["pg_try_advisory_lock"], "take a lease (kernel/leases)"),
    (&["pg_advisory_xact_lock"], "lock a row that stands for it"),
    (&["pg_try_advisory_xact_lock"], "lock a row that stands for it, with `skip locked`"),
    (&["pg_current_xact_id"], "number what is to be in order"),
    (&["xmin"], "count versions in a column"),
    (&["xmax"], "count versions in a column"),
    (&["ctid"], "name the primary key"),
    (&["deferrable"], "check it where it is written"),
    (&["prepare", "transaction"], "write in one database"),
];

/// Whoever notifies says what polling would find as well, and whoever listens polls.
const NOTIFIES: &[&str] = &["events/queries.rs", "kernel/database/notifications.rs", "webhooks/engine/endpoints.rs"];

fn words(text: &str) -> Vec<String> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.to_lowercase().split(|c| !is_word(c)).filter(|word| !word.is_empty()).map(ToOwned::to_owned).collect()
}

/// What a text asks for that is not there everywhere.
fn missing(text: &str) -> Vec<String> {
    let words = words(text);
    let asks = |sought: &[&str]| words.windows(sought.len()).any(|found| found == sought);
    MISSING.iter().filter(|(sought, _)| asks(sought)).map(|(sought, instead)| format!("`{}`: {instead}", sought.join(" "))).collect()
}

#[test]
fn statements_ask_for_nothing_that_a_distributed_database_lacks() {
    let sources = sources().into_iter().map(|source| (source.path, without_comments(&source.text)));
    let statements = statement_files().into_iter().map(|file| (file.path, file.text));
    let migrations = migrations().into_iter().filter(|(name, _)| name.as_str() >= FIRST);
    let migrations = migrations.map(|(name, text)| (name, without_remarks(&text)));
    let all = sources.chain(statements).chain(migrations);
    let found: Vec<_> = all.flat_map(|(name, text)| missing(&text).into_iter().map(move |what| format!("{name}: {what}"))).collect();
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn notifications_are_sent_and_heard_in_few_places() {
    let program = |text: &str| without_comments(text.split("#[cfg(test)]").next().unwrap_or_default());
    let speaks = |text: String| text.contains("pg_notify(") || text.contains("PgListener");
    let found: Vec<_> = sources().into_iter().filter(|source| speaks(program(&source.text))).map(|source| source.path).collect();
    assert_eq!(found, NOTIFIES, "what is added here must go on without a notification: tests/it/webhooks/unnotified.rs");
}

#[test]
fn planted_statements_are_seen() {
    for planted in [
        "LOCK TABLE cakes in exclusive mode",
        "select pg_try_advisory_xact_lock(1)",
        "update cakes set eaten = true where ctid = $1",
        "alter table cakes add constraint sweet check (true) deferrable",
    ] {
        assert_eq!(missing(planted).len(), 1, "{planted}");
    }
    assert_eq!(missing("select from cakes for update skip locked"), Vec::<String>::new());
}
