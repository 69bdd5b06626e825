//! Shared behaviour of resources is implemented once: only `src/resources` writes the records of the five routes.

use std::collections::BTreeSet;

use crate::architecture::sources::{sources, statement_files, without_comments};
use crate::support::routes::{Kind, RESOURCES};

/// The exceptions: the table, the file below `src`, and what it writes outside of the five routes.
const OTHER_WRITERS: &[(&str, &str, &str)] = &[
    ("api_keys", "companies/queries.rs", "when a key was used, which is no change of the record"),
    ("operators", "operators/queries/mod.rs", "what the command line does, and passwords and sign-ins, which are no change of the record"),
    ("operators", "operators/queries/bindings.rs", "who an operator is at the identity provider, which is no change of the record"),
    ("operators", "operators/totp/queries.rs", "second factors, which operators set up themselves"),
    (
        "portal_links",
        "portal/queries.rs",
        "when a link was opened, which is no change of the record; and the end of those that ended long ago",
    ),
    ("any", "fleet/positions/queries.rs", "the positions of many at once, in the five columns of a location"),
];

/// The value of a constant that a resource defines.
fn constant<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.split_once(&format!("const {name}: &'static str = \""))?.1.split('"').next()
}

/// Whether a statement in `text` inserts into, updates or deletes from `table`.
fn writes(text: &str, table: &str) -> bool {
    let code = without_comments(text);
    let words: Vec<_> = code.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty()).collect();
    let begins = |verb: &[&str]| words.windows(verb.len() + 1).any(|words| words.starts_with(verb) && words.last() == Some(&table));
    begins(&["insert", "into"]) || begins(&["update"]) || begins(&["delete", "from"])
}

#[test]
fn records_that_are_edited_are_written_by_the_mechanism_alone() {
    let outside = sources().into_iter().chain(statement_files()).filter(|source| !source.path.starts_with("resources/"));
    let texts: Vec<_> = outside.map(|source| (source.path, source.text)).collect();

    let is_log = |plural: &str| RESOURCES.iter().any(|(_, path, kind)| path.replace('-', "_") == plural && *kind == Kind::Log);
    let plurals = texts.iter().filter_map(|(_, text)| Some((text, constant(text, "PLURAL")?)));
    let edited = plurals.filter(|(_, plural)| !is_log(plural));
    let tables: BTreeSet<_> = edited.map(|(text, plural)| constant(text, "TABLE").unwrap_or(plural)).collect();
    assert!(tables.is_superset(&["orders", "drivers", "subscriptions", "declared_records"].into()), "{tables:?}");

    let mut found = BTreeSet::new();
    for (file, text) in &texts {
        let file = file.as_str();
        found.extend(tables.iter().filter(|table| writes(text, table)).map(|table| (*table, file)));
        found.extend(text.contains("::TABLE").then_some(("any", file)));
    }
    assert_eq!(found, OTHER_WRITERS.iter().map(|(table, file, _)| (*table, *file)).collect());
}

#[test]
fn a_statement_that_writes_is_seen() {
    assert!(writes("sqlx::query!(\"with a as (\n  insert into\n  orders (id) values ($1))\")", "orders"));
    assert!(writes("\"update orders set status = $1\"", "orders") && writes("\"delete from orders\"", "orders"));
    assert!(!writes("\"select from orders for update\"\n// update orders\n\"update orders_log\"", "orders"));
}
