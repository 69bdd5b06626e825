//! Every table has one owner, the module that writes it. Others read it through the owner's functions, or through a view.

use std::collections::{BTreeMap, BTreeSet};

use crate::architecture::sources::{Source, migrations, sources, statement_files, without_comments, without_remarks};

/// The owner of each table and view: a file or folder below `src`. The table of a kind of record belongs to the place that declares the
/// kind, unless this list names another.
const OWNERS: &[(&str, &str)] = &[
    ("rate_limits", "kernel/rate_limit"),
    ("schema_compatibility", "kernel/migrations"),
    ("leases", "kernel/leases"),
    ("changes", "audit_trail"),
    ("change_log", "audit_trail"),
    ("companies", "companies"),
    ("company_moves", "companies"),
    ("company_standings", "companies"),
    ("moving_companies", "companies"),
    ("api_keys", "companies"),
    ("gateways", "gateways/accounts"),
    ("card_gateways", "gateways/accounts"),
    ("reconciliations", "gateways/reconciliation"),
    ("operators", "operators"),
    ("operator_sessions", "operators"),
    ("operator_links", "operators"),
    ("operator_choices", "operators"),
    ("operator_mails", "operators"),
    ("operator_notices", "operators"),
    ("operator_recovery_codes", "operators"),
    ("events", "events"),
    ("outbox", "events"),
    ("event_sequences", "events"),
    ("feed", "events"),
    ("feed_default", "events"),
    ("feed_heads", "events"),
    ("event_feed", "events"),
    ("event_feed_heads", "events"),
    ("unnumbered_events", "events"),
    ("event_log", "events"),
    ("event_stream", "events"),
    ("events_default", "events"),
    ("notifying_turn", "events"),
    ("declared_records", "declared"),
    ("declared_schemas", "declared"),
    ("declaring_turn", "declared"),
    ("subscriptions", "webhooks/subscription"),
    ("subscription_wishes", "webhooks/subscription"),
    ("subscription_endpoints", "webhooks/subscription"),
    ("subscription_owners", "webhooks/subscription"),
    ("portal_links", "portal"),
    ("portal_sessions", "portal"),
    ("endpoints", "webhooks/engine"),
    ("cancellations", "webhooks/engine"),
    ("waiting", "webhooks/engine"),
    ("in_flight", "webhooks/engine"),
    ("workers", "webhooks/engine"),
    ("deliveries", "webhooks/engine"),
    ("deliveries_default", "webhooks/engine"),
    ("attempts", "webhooks/engine"),
    ("attempts_default", "webhooks/engine"),
    ("delivery_log", "webhooks/engine"),
    ("attempt_hours", "webhooks/engine"),
    ("event_hours", "webhooks/engine"),
    ("replays", "webhooks/replays"),
    ("replay_keys", "webhooks/replays"),
    ("operator_letters", "webhooks/failing"),
    ("stores", "storefront/stores"),
    ("store_keys", "storefront/stores"),
    ("store_companies", "storefront/stores"),
    ("test_identities", "storefront/test_identities"),
    ("tested_identities", "storefront/test_identities"),
    ("identity_providers", "storefront/company_providers"),
    ("registration_hooks", "storefront/registration_hooks"),
    ("message_providers", "storefront/message_providers"),
    ("message_wordings", "storefront/company_wordings"),
    ("customers", "storefront/customers"),
    ("customer_records", "storefront/customers"),
    ("customer_identities", "storefront/customers"),
    ("customer_companies", "storefront/customers"),
    ("verification_codes", "storefront/codes"),
    ("wrong_codes", "storefront/codes"),
    ("wrong_passwords", "storefront/passwords"),
    ("known_clients", "storefront/guessing"),
    ("authenticators", "storefront/second_factors"),
    ("second_factors", "storefront/second_factors"),
    ("customer_recovery_codes", "storefront/second_factors"),
    ("pending_sign_ins", "storefront/second_factors"),
    ("customer_tokens", "storefront/tokens"),
    ("session_records", "storefront/tokens"),
    ("live_sessions", "storefront/tokens"),
    ("session_ends", "storefront/tokens"),
    ("sign_ins", "storefront/audit"),
    ("sign_in_log", "storefront/audit"),
    ("sign_in_hours", "storefront/audit"),
    ("sign_ins_counted", "storefront/audit"),
    ("provider_links", "storefront/accounts/social"),
    ("provider_grants", "storefront/accounts/social"),
    ("used_identity_tokens", "storefront/accounts/social"),
    ("presented_identity_tokens", "storefront/accounts/social"),
    ("passkeys", "storefront/passkeys"),
    ("passkey_users", "storefront/passkeys"),
    ("answered_challenges", "storefront/passkeys"),
    ("devices", "storefront/accounts/devices"),
    ("contact_changes", "storefront/accounts/take_back"),
    ("seen_devices", "storefront/accounts/known_devices"),
    ("notices", "storefront/sending/notices"),
    ("card_customers", "storefront/card"),
    ("texts", "storefront/sms_guard"),
    ("text_log", "storefront/sms_guard"),
    ("text_hours", "storefront/sms_guard"),
    ("texts_counted_until", "storefront/sms_guard"),
    ("text_minutes", "storefront/sms_guard"),
    ("text_pauses", "storefront/sms_guard"),
    ("text_guards", "storefront/sms_guard"),
    ("card_payers", "storefront/card"),
    ("order_companies", "fleet/orders"),
    ("fleet_members", "fleet/fleets"),
    ("publishing_keys", "developers/publishing"),
    ("callbacks", "gateways/ledger"),
    ("payments", "gateways/ledger"),
    ("payment_facts", "gateways/ledger"),
];

/// What may be read and written beside that: the file or folder below `src`, the table, and the reason, with the figure if it was
/// measured (`docs/performance.md`).
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("storefront/tokens/queries/find_sessions.rs", "customers", "one round trip for requests whose sessions are not cached: 8,038/s"),
    ("storefront/tokens/queries/insert_token.rs", "customers", A_SIGN_IN),
    ("storefront/tokens/queries/insert_token.rs", "sign_ins", A_SIGN_IN),
    ("storefront/tokens/queries/insert_token.rs", "wrong_passwords", A_SIGN_IN),
    ("storefront/tokens/queries/insert_token.rs", "wrong_codes", A_SIGN_IN),
    ("storefront/tokens/queries/insert_token.rs", "known_clients", A_SIGN_IN),
    ("storefront/customers/queries/password_guess.rs", "wrong_passwords", A_SIGN_IN),
    ("storefront/guessing/guess.rs", "rate_limits", A_SIGN_IN),
    (
        "storefront/codes/queries/count_guess.rs",
        "rate_limits",
        "whether the client has failed is told with the count: a right code then takes nothing back, one statement less",
    ),
    ("storefront/tokens/queries/insert_token.rs", "seen_devices", A_SIGN_IN),
    (
        "storefront/new_codes.rs",
        "verification_codes",
        "the codes of a group of texts are stored by the transaction that judges them: one commit for all of them",
    ),
    (
        "webhooks/engine/fan_out",
        "outbox",
        "what one statement takes out of the outbox goes straight into flight: publishing to arrival at 500 events/s, p50 3.3 ms → 1.5 ms",
    ),
    ("webhooks/engine/fan_out", "feed", NUMBERED),
    ("webhooks/engine/fan_out", "feed_heads", NUMBERED),
    (
        "webhooks/engine/fan_out/publishing.sql",
        "events",
        "one statement publishes an event and takes its deliveries into flight: PostgreSQL's own time for both 0.9 ms → 0.3 ms",
    ),
];

const NUMBERED: &str = "what leaves the outbox gets its number under the lock that orders a company's events";
const A_SIGN_IN: &str = "a sign-in of two statements instead of seven: 0.72 to 0.83 of the bare hashes became 0.80 to 0.92";

/// What a statement does with a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Access {
    Reads,
    Writes,
}

/// The string literals of a file that are SQL, or the part of a statement that a macro puts together: it has an expression of a `with`. A file of SQL is
/// one statement.
fn statements(source: &Source) -> Vec<String> {
    if source.path.ends_with(".sql") {
        return vec![without_remarks(&source.text)];
    }
    let code = without_comments(&source.text);
    let mut found = Vec::new();
    let mut rest = code.as_str();
    while let Some(start) = rest.find('"') {
        let hashes = rest[..start].chars().rev().take_while(|c| *c == '#').count();
        let raw = rest[..start - hashes].ends_with('r');
        let body = &rest[start + 1..];
        let end = if raw { body.find(&format!("\"{}", "#".repeat(hashes))) } else { end_of_text(body) };
        let Some(end) = end else { break };
        found.push(body[..end].to_owned());
        rest = &body[end + 1..];
    }
    let verbs = ["select", "insert", "update", "delete", "with", "lock", "truncate", "alter", "create", "drop"];
    found.retain(|text| text.contains(" as (\n") || words(text).next().is_some_and(|word| verbs.contains(&word)));
    found
}

/// The end of a literal with escapes.
fn end_of_text(body: &str) -> Option<usize> {
    let mut escaped = false;
    body.find(|c| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    })
}

fn words(sql: &str) -> impl Iterator<Item = &str> {
    sql.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

/// The tables that a statement reads and writes.
fn accesses<'a>(sql: &'a str, tables: &BTreeSet<String>) -> BTreeSet<(Access, &'a str)> {
    let words: Vec<_> = words(sql).collect();
    let mut found = BTreeSet::new();
    for (at, word) in words.iter().enumerate().filter(|(_, word)| tables.contains(**word)) {
        let before = words[..at].iter().rev().filter(|word| !["only", "table", "concurrently", "if", "exists", "not"].contains(word));
        match before.take(2).copied().collect::<Vec<_>>()[..] {
            ["into", "insert" | "merge"] | ["from", "delete"] | ["truncate" | "alter" | "drop" | "create", ..] => {
                found.insert((Access::Writes, *word));
            }
            // `for update of …` and `on conflict … do update set` lock or change a row that the statement has named otherwise.
            ["update", "for" | "key" | "do"] => {}
            ["update", ..] => {
                found.insert((Access::Writes, *word));
            }
            ["from" | "join" | "lock" | "using", ..] => {
                found.insert((Access::Reads, *word));
            }
            _ => {}
        }
    }
    found
}

/// The tables and the views of the schema.
fn schema(migrations: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let code: Vec<_> = migrations.lines().map(|line| line.split("--").next().unwrap_or_default()).collect();
    let code = code.join("\n");
    let words: Vec<_> = words(&code).filter(|word| !["or", "replace", "if", "not", "exists", "unlogged"].contains(word)).collect();
    let created =
        |kind: &str| words.windows(3).filter(|words| words[0] == "create" && words[1] == kind).map(|words| words[2].to_owned()).collect();
    (created("table"), created("view"))
}

/// Whether `path` is the module `owner` or stands in it.
fn belongs(path: &str, owner: &str) -> bool {
    path.strip_prefix(owner).is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || rest == ".rs")
}

/// The statements that read or write what belongs to others, as `file reads|writes table`, except for `exceptions`.
fn foreign(sources: &[Source], migrations: &str, owners: &[(&str, &str)], exceptions: &[(&str, &str, &str)]) -> Vec<String> {
    let (tables, views) = schema(migrations);
    let names: BTreeSet<_> = tables.union(&views).cloned().collect();
    let listed: BTreeMap<_, _> = owners.iter().copied().collect();
    let of_kinds = kinds(sources);
    let owners: BTreeMap<_, _> =
        of_kinds.iter().filter(|(table, _)| names.contains(*table)).map(|(table, owner)| (&**table, &**owner)).chain(listed).collect();
    let unowned = names.iter().filter(|table| !owners.contains_key(table.as_str())).map(|table| format!("`{table}` has no owner"));
    let mut wrong: Vec<_> = unowned.collect();
    wrong.extend(owners.keys().filter(|table| !names.contains(**table)).map(|table| format!("`{table}` has an owner, but does not exist")));
    let mut used = BTreeSet::new();
    for source in sources {
        let found: BTreeSet<_> =
            statements(source).iter().flat_map(|sql| accesses(sql, &names)).map(|(access, table)| (access, table.to_owned())).collect();
        for (access, table) in found {
            let owned = owners.get(table.as_str()).is_some_and(|owner| belongs(&source.path, owner));
            if owned || access == Access::Reads && views.contains(&table) {
                continue;
            }
            match exceptions.iter().position(|(file, excepted, _)| belongs(&source.path, file) && *excepted == table) {
                Some(exception) => drop(used.insert(exception)),
                None => {
                    let does = if access == Access::Writes { "writes" } else { "reads" };
                    let owner = owners.get(table.as_str()).copied().unwrap_or("nobody");
                    wrong.push(format!("`{}` {does} `{table}`, which belongs to `{owner}`", source.path));
                }
            }
        }
    }
    let unused = exceptions.iter().enumerate().filter(|(index, _)| !used.contains(index));
    wrong.extend(unused.map(|(_, (file, table, _))| format!("the exception of `{file}` for `{table}` is not needed")));
    wrong
}

/// The tables of the kinds of records that have the name of the kind, and the file or folder that declares the kind.
fn kinds(sources: &[Source]) -> BTreeMap<String, String> {
    let plurals = |source: &Source| -> Vec<String> {
        let code = without_comments(&source.text);
        let declared = code.split("const PLURAL: &'static str = \"").skip(1);
        declared.filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect()
    };
    let place = |source: &Source| source.path.strip_suffix("/mod.rs").unwrap_or(&source.path).to_owned();
    sources.iter().flat_map(|source| plurals(source).into_iter().map(move |plural| (plural, place(source)))).collect()
}

#[test]
fn a_table_is_written_and_read_by_its_owner_alone() {
    let migrations: String = migrations().into_values().collect();
    let sources: Vec<_> = sources().into_iter().chain(statement_files()).collect();
    assert_eq!(foreign(&sources, &migrations, OWNERS, EXCEPTIONS), Vec::<String>::new());
}

#[test]
fn a_planted_foreign_statement_is_seen() {
    let migrations = "create table cakes (id uuid);\n-- create table of\ncreate table eaters (id uuid);\ncreate view eaten_cakes as select id from cakes;";
    let owners = [("cakes", "kitchen/cakes"), ("eaters", "guests.rs"), ("eaten_cakes", "kitchen/cakes")];
    let faults = |path: &str, text: &str, exceptions: &[(&str, &str, &str)]| {
        foreign(&[Source { path: path.to_owned(), text: text.to_owned() }], migrations, &owners, exceptions)
    };
    let none = Vec::<String>::new();
    let read = "sqlx::query!(\n    r#\"select id as \"id!\"\n    from eaters join cakes using (id)\"#\n)";
    assert_eq!(faults("guests.rs", read, &[]), ["`guests.rs` reads `cakes`, which belongs to `kitchen/cakes`"]);
    assert_eq!(faults("guests.rs", &read.replace("join cakes", "join eaten_cakes"), &[]), none);
    assert_eq!(faults("guests.rs", "// select id from cakes\n\"Cakes are made from cakes.\"", &[]), none);
    assert_eq!(faults("kitchen/cakes/oven.rs", "\"insert into cakes (id) values ($1) on conflict do update set id = $1\"", &[]), none);
    for write in
        ["insert into eaters default values", "with a as (update only eaters set id = $1) select", "delete from eaters", "truncate eaters"]
    {
        let wrong = faults("kitchen/cakes.rs", &format!("\"{write}\""), &[]);
        assert_eq!(wrong, ["`kitchen/cakes.rs` writes `eaters`, which belongs to `guests.rs`"], "{write}");
    }
    assert_eq!(faults("waiter.rs", "\"insert into eaten_cakes select $1\"", &[]).len(), 1);
    assert_eq!(faults("guests.sql", "with eaten as (delete from cakes returning id) select count(*) from eaten", &[]).len(), 1);
    let alone = "-- takes from eaters\nselect from cakes";
    assert_eq!(faults("guests.sql", alone, &[]), ["`guests.sql` reads `cakes`, which belongs to `kitchen/cakes`"]);
    let exception = [("guests.rs", "cakes", "measured: 2 ms instead of 3 ms")];
    assert_eq!(faults("guests.rs", read, &exception), none);
    assert_eq!(faults("guests.rs", "", &exception), ["the exception of `guests.rs` for `cakes` is not needed"]);
    let kind = Source { path: "kitchen/crumbs/mod.rs".to_owned(), text: "const PLURAL: &'static str = \"crumbs\";".to_owned() };
    let sweeper = Source { path: "broom.rs".to_owned(), text: "\"delete from crumbs\"".to_owned() };
    let wrong = foreign(&[kind, sweeper], "create table crumbs (id uuid)", &[], &[]);
    assert_eq!(wrong, ["`broom.rs` writes `crumbs`, which belongs to `kitchen/crumbs`"]);
    assert!(foreign(&[], "create table crumbs (id uuid)", &[], &[]).contains(&"`crumbs` has no owner".to_owned()));
}
