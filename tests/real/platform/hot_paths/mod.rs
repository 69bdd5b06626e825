//! What the hot paths ask of PostgreSQL and write there, exactly: performance, "How to measure".
//!
//! No clock and no other program blurs these counts, so a statement, a row, a lock or an index that a path has got is seen with the change that
//! brings it. They are compared with `counted.tsv` in both directions: less is written down as well, or it could come back unseen. For each
//! path the table has sums, and what they are made of:
//!
//! - **statements** that the server was sent, `begin` and `commit` among them, by the names that metrics give them. The server logs them.
//! - **rows** that were inserted, updated or deleted, by table. A value that is stored beside its row is a row of the same table.
//! - **locks** of rows: each writes to its row as well.
//! - **index entries**, by table: one for each index that a row has got into.
//!
//! The last three are read from the write-ahead log. Pages, checkpoints and commits are in it too, and are not counted.
//!
//! An event and its delivery are counted both ways. `event` goes by the outbox, and `delivery` is the two steps that the worker makes then: fan-out
//! straight into flight, and recording. `event, sent at once` is the usual one: the statement that publishes it takes its delivery into flight, and
//! `delivery, sent at once` is recording alone.
//!
//! What depends on time is kept out. No worker runs: the story makes its steps, and collects what it would be given. Each path is taken twice, and
//! counted the second time, when connections are open, endpoints are known and figures of the hour have been begun. What is cached for a second is
//! looked up before, because under load many requests share it. The figures of attempts have a row for each duration before the first one. The
//! server does not vacuum. Two statements are left out: with one, a pool asks a connection that nobody has used for a second whether it is still
//! there; with the other, other instances are told of commits, of all within ten milliseconds at once.
//!
//! Whoever changes a number for a reason writes the table anew: `PORTICO_TEST_RENEW=1 cargo test --test real hot_paths`.

mod counting;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use chrono::TimeDelta;
use portico::kernel::database::programs::find_program;
use portico::webhooks::Claimed;
use reqwest::Method;
use serde_json::{Value, json};

use crate::platform::hot_paths::counting::CountingServer;
use crate::support::World;
use crate::support::customers::{EMAIL, PHONE, me, token};
use crate::support::gateways::event;
use crate::support::skipping::skipped;
use crate::support::waiting::until;

const TABLE: &str = "tests/real/platform/hot_paths/counted.tsv";
/// Has the table written anew.
const RENEW: &str = "PORTICO_TEST_RENEW";

/// The numbers of the table, by the rest of their lines.
type Counted = BTreeMap<String, usize>;

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(TABLE)
}

/// What a table says.
fn read(table: &str) -> Counted {
    let entries = table.lines().filter(|line| !line.starts_with('#')).map(|line| line.rsplit_once('\t').unwrap());
    entries.map(|(what, number)| (what.to_owned(), number.parse().unwrap())).collect()
}

/// The table with other numbers.
fn renewed(table: &str, counted: &Counted) -> String {
    let head = table.lines().filter(|line| line.starts_with('#')).map(|line| format!("{line}\n"));
    head.chain(counted.iter().map(|(what, number)| format!("{what}\t{number}\n"))).collect()
}

/// Each number that has changed, from what to what.
fn changes(noted: &Counted, counted: &Counted) -> Vec<String> {
    let all: BTreeSet<_> = noted.keys().chain(counted.keys()).collect();
    let both = all.into_iter().map(|what| {
        let number = |table: &Counted| table.get(what).copied().unwrap_or_default();
        (what, number(noted), number(counted))
    });
    let changed = both.filter(|(_, noted, counted)| noted != counted);
    changed.map(|(what, noted, counted)| format!("{}: {noted} → {counted}", what.replace('\t', ", "))).collect()
}

/// One time all paths.
struct Round<'a> {
    server: &'a mut CountingServer,
    counted: Counted,
}

impl Round<'_> {
    /// Takes a path, and counts.
    async fn of<T>(&mut self, path: &str, work: impl Future<Output = T>) -> T {
        // Boxed: a large future would otherwise have its size twice here.
        let (done, counts) = self.server.count(Box::pin(work)).await;
        self.counted.extend(counts.into_iter().map(|((what, of), number)| (format!("{path}\t{what}\t{of}"), number)));
        done
    }
}

async fn publish(world: &World) {
    let data = &world.state.developers.catalogue.find("order.created").unwrap().sample;
    world.developers(Method::POST, "events", json!({ "event": "order.created", "data": data })).await.ok(201);
}

/// The one delivery that there is, as the worker makes it for a company with little to do.
async fn deliver(world: &World) {
    let taken = world.state.webhooks.fan_out_and_claim(10).await.unwrap();
    send(world, taken).await;
}

/// The one delivery that is in flight.
async fn send(world: &World, taken: Vec<Claimed>) {
    assert_eq!(world.state.webhooks.send_and_record(taken).await.unwrap(), 1, "it was taken into flight");
}

/// A callback about a payment that is new.
async fn call_back(world: &World, gateway: &Value, payment: &str) {
    let intent = json!({ "id": format!("pi_{payment}"), "amount": 1000, "amount_received": 1000, "currency": "usd" });
    world.call_back(gateway, &event(&format!("evt_{payment}"), "payment_intent.succeeded", intent)).await.ok(200);
}

async fn sign_in(world: &World, identity: &str) -> String {
    let code = world.sign_in_code(identity).await;
    token(&world.verify(identity, code).await.ok(200))
}

/// Takes all paths, the `number`th time.
async fn round(world: &World, server: &mut CountingServer, gateway: &Value, number: usize) -> Counted {
    let mut round = Round { server, counted: Counted::new() };
    // The API key.
    world.get("webhooks").await;
    round.of("event", publish(world)).await;
    round.of("delivery", deliver(world)).await;
    // Nothing is in the way of the next one: the outbox is empty, and the feed has its row for this hour.
    let taken = round.of("event, sent at once", world.state.webhooks.launched_during(publish(world))).await;
    round.of("delivery, sent at once", send(world, taken)).await;
    // The gateway.
    call_back(world, gateway, &format!("before_{number}")).await;
    round.of("callback", call_back(world, gateway, &format!("counted_{number}"))).await;
    // Enough for another code.
    world.pass(TimeDelta::minutes(2));
    // The store, its providers and its words.
    sign_in(world, EMAIL).await;
    let token = round.of("sign-in by code", sign_in(world, PHONE)).await;
    round.of("customers/me, looked up", me(world, &token)).await;
    round.of("customers/me", me(world, &token)).await;
    let Round { counted, .. } = round;
    // The next round has its own events alone.
    world.fan_out().await;
    counted
}

#[tokio::test]
async fn the_hot_paths_ask_postgresql_for_what_the_table_says_and_for_nothing_else() {
    if find_program("pg_waldump").is_none() {
        return skipped("pg_waldump, which comes with the server, is not installed");
    }
    let mut server = CountingServer::start().await;
    let world = World::on(&server.url(), &[]).await;
    if world.count("select count(*) from pg_extension where extname = 'pg_trgm'").await == 0 {
        skipped("pg_trgm, with whose indexes entries are counted, is not installed");
        return server.end(world).await;
    }
    world.state.webhooks.create_partitions().await.unwrap();
    world.get("webhooks").await;
    until("the use of the API key is noted", async || {
        world.count("select count(*) from api_keys where last_used_at is not null").await == 1
    })
    .await;
    let receiver = world.endpoint("shop.test").await;
    world.subscribe(&receiver, json!({ "events": ["order.created"] })).await;
    server.begin_figures(world.company, world.clock.now()).await;
    let gateway = world.card().await;
    world.register(EMAIL).await;
    world.register(PHONE).await;
    // What that has published.
    world.fan_out().await;

    round(&world, &mut server, &gateway, 1).await;
    let counted = round(&world, &mut server, &gateway, 2).await;
    server.end(world).await;
    let table = fs::read_to_string(file()).unwrap();
    if env::var_os(RENEW).is_some() {
        return fs::write(file(), renewed(&table, &counted)).unwrap();
    }
    let changes = changes(&read(&table), &counted);
    assert!(
        changes.is_empty(),
        "the hot paths ask something else of PostgreSQL than {TABLE} says:\n\n{}\n\nIf there is a reason, the table is written anew by: \
         {RENEW}=1 cargo test --test real hot_paths",
        changes.join("\n")
    );
}

#[test]
fn a_number_that_has_changed_is_named_in_both_directions() {
    let table = "# Head\nevent\trows\tevents\t1\nevent\tstatements\tin all\t2\ncallback\tlocks\tin all\t0\n";
    let noted = read(table);
    assert_eq!(changes(&noted, &noted), Vec::<String>::new());
    let counted = Counted::from([("event\trows\tevents".to_owned(), 3), ("event\trows\toutbox".to_owned(), 1)]);
    let expected = ["event, rows, events: 1 → 3", "event, rows, outbox: 0 → 1", "event, statements, in all: 2 → 0"];
    assert_eq!(changes(&noted, &counted), expected);
    assert_eq!(renewed(table, &counted), "# Head\nevent\trows\tevents\t3\nevent\trows\toutbox\t1\n");
}
