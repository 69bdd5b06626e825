//! Migrations are append-only. `migrations/SHA256SUMS` lists them in their order; what it lists may be in databases and never changes again.
//!
//! `.ci/sqlx write` appends the lines of new migrations. While no database but a developer's has a migration, it may still be changed:
//! delete its line, and let `.ci/sqlx write` append it again.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use portico::kernel::crypto::sha256;

use crate::architecture::sources::migrations;

/// What is wrong with the migrations (name and text) in comparison with the list.
fn faults(list: &str, migrations: &BTreeMap<String, String>) -> Vec<String> {
    let listed: Vec<_> = list.lines().filter_map(|line| line.split_once("  ")).collect();
    let sum = |text: &String| hex::encode(sha256(text.as_bytes()));
    let changed = listed.iter().filter_map(|(known, name)| match migrations.get(*name) {
        None => Some(format!("`{name}` is gone, but databases have it: restore it")),
        Some(text) if sum(text) != *known => {
            Some(format!("`{name}` has changed, but databases have it as it was: restore it, and put the change into a new migration"))
        }
        Some(_) => None,
    });
    let late = listed.windows(2).filter(|pair| pair[1].1 <= pair[0].1);
    let late =
        late.map(|pair| format!("`{}` stands behind `{}`, which databases have already: give it a later instant", pair[1].1, pair[0].1));
    let new = migrations.iter().filter(|(name, _)| !listed.iter().any(|(_, known)| known == name));
    let new = new
        .map(|(name, text)| format!("`{name}` is not listed: `.ci/sqlx write` appends `{}  {name}` to migrations/SHA256SUMS", sum(text)));
    changed.chain(late).chain(new).collect()
}

#[test]
fn migrations_are_append_only() {
    let list = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations/SHA256SUMS")).unwrap();
    assert_eq!(faults(&list, &migrations()), Vec::<String>::new());
}

/// The oldest migration that has to let the instances of the version before go on working while it runs.
const FIRST_ONLINE: &str = "20261126";

/// Migrations whose indexes are made beforehand (`src/kernel/migrations/text_indexes.rs`), where the table is there already.
const MADE_BEFOREHAND: &[&str] = &["20261126121500_search_indexes.sql"];

/// The statements of a migration that lock an existing table for as long as they read or rewrite it.
fn blocking(name: &str, text: &str) -> Vec<String> {
    let text = text.lines().filter(|line| !line.trim_start().starts_with("--")).collect::<Vec<_>>().join("\n").to_lowercase();
    let creates = |table: &str| text.contains(&format!("create table {table} "));
    let statements = text.split(';').map(|statement| statement.split_whitespace().collect::<Vec<_>>());
    let blocking = statements.filter(|words| match words[..] {
        ["create", "index", "if", "not", "exists", ..] => !MADE_BEFOREHAND.contains(&name),
        ["create", "index", _, "on", table, ..] | ["create", "unique", "index", _, "on", table, ..] => table != "only" && !creates(table),
        ["alter", "table", table, ..] => {
            let validates = words.contains(&"constraint") && words.contains(&"add") && !words.ends_with(&["not", "valid"]);
            !creates(table) && (validates || words.windows(2).any(|pair| matches!(pair, ["set", "not"] | ["type", _])))
        }
        _ => false,
    });
    blocking.map(|words| format!("{name}: `{}`", words.join(" "))).collect()
}

#[test]
fn migrations_do_not_stop_the_instances_that_are_running() {
    let migrations = migrations();
    let online = migrations.iter().filter(|(name, _)| name.as_str() >= FIRST_ONLINE);
    let blocking: Vec<_> = online.flat_map(|(name, text)| blocking(name, text)).collect();
    assert!(
        blocking.is_empty(),
        "{blocking:#?}: create an index with `concurrently`, alone in a migration that begins with `-- no-transaction` (on a partitioned \
         table `on only`, then on each partition, and attach); \
         change columns in the steps of docs/operating.md, \"Upgrades\""
    );
}

#[test]
fn planted_statements_that_block_are_seen() {
    let seen = |text: &str| blocking("1_cakes.sql", text).len();
    assert_eq!(seen("create index cakes_of on cakes (owner);"), 1);
    assert_eq!(seen("do $$ begin perform 1; create index if not exists cakes_of on cakes (owner); end $$;"), 1);
    assert_eq!(seen("alter table cakes alter column name type text;"), 1);
    assert_eq!(seen("alter table cakes alter column name set not null;"), 1);
    assert_eq!(seen("alter table cakes add constraint cakes_named check (name <> '');"), 1);
    assert_eq!(seen("alter table cakes add constraint cakes_named check (name <> '') not valid;"), 0);
    assert_eq!(seen("-- no-transaction\ncreate index concurrently cakes_of on cakes (owner);"), 0);
    assert_eq!(seen("create index cakes_of on only cakes (owner);"), 0);
    assert_eq!(seen("create table cakes (owner uuid);\ncreate index cakes_of on cakes (owner);"), 0);
    assert_eq!(seen("alter table cakes add column name text;"), 0);
}

#[test]
fn a_planted_change_of_a_migration_is_seen() {
    let migrations = |files: &[(&str, &str)]| files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    let line = |(name, text): &(&str, &str)| format!("{}  {name}\n", hex::encode(sha256(text.as_bytes())));
    let (first, second) = (("1_cakes.sql", "create table cakes ();"), ("2_eaters.sql", "create table eaters ();"));
    let list = line(&first) + &line(&second);
    let seen = |list: &str, files: &[(&str, &str)]| match &faults(list, &migrations(files))[..] {
        [] => "nothing".to_owned(),
        [fault] => fault.clone(),
        several => panic!("{several:?}"),
    };
    assert_eq!(seen(&list, &[first, second]), "nothing");
    assert!(seen(&list, &[("1_cakes.sql", "create table pies ();"), second]).starts_with("`1_cakes.sql` has changed"));
    assert!(seen(&list, &[second]).starts_with("`1_cakes.sql` is gone"));
    let unlisted = seen(&line(&first), &[first, second]);
    assert!(unlisted.starts_with("`2_eaters.sql` is not listed") && unlisted.contains(line(&second).trim()), "{unlisted}");
    let inserted = line(&second) + &line(&first);
    assert!(seen(&inserted, &[first, second]).starts_with("`1_cakes.sql` stands behind `2_eaters.sql`"));
}
