//! Instructions of the service for one request of a kind, counted by Callgrind (package `valgrind`). No clock and no other program blurs them, so
//! a change of a few percent shows that is lost in the noise of every other figure. PostgreSQL is not counted, and neither is the kernel.
//!
//! Requests come one at a time, because the size of groups depends on the scheduler. What the idle service does meanwhile is counted too, and
//! taken off. The counts are compared with `instructions.tsv`, if the compiler is the one that it names. Whoever has lengthened a path for a
//! reason writes the file anew with `cargo bench -- instructions --renew`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::callbacks;
use crate::codes::{self, BATCH};
use crate::figures::{Aim, Figures};
use crate::support::callgrind::Callgrind;
use crate::support::calls::{Caller, request};
use crate::support::customers;
use crate::support::database::Database;
use crate::support::hub;
use crate::support::program::Program;
use crate::support::publisher::Publisher;
use crate::support::service::Service;
use crate::support::sink::Sink;

/// How much more than noted is no failure: the counts of several runs differ by up to 2.8 %, because groups and batches do.
const TOLERANCE: f64 = 0.04;
/// Each kind is counted so often, and the least count is taken.
const ROUNDS: usize = 5;
/// Requests of one kind that are counted together.
const MANY: usize = 200;
/// Enough that each is looked up who asks for their account in turn.
const CUSTOMERS: usize = 4_000;

pub fn measure(figures: &mut Figures, renew: bool) {
    let (compiler, counted) = (compiler(), count());
    let (of_compiler, noted) = noted();
    for (kind, count) in &counted {
        let before = noted.get(kind).map_or_else(|| "not noted".to_owned(), |noted| format!("noted: {noted:.0}"));
        figures.show(&format!("instructions, {kind}"), *count, Aim::Stated, &before);
    }
    if renew {
        let lines = counted.iter().map(|(kind, count)| format!("{kind}\t{count:.0}\n"));
        fs::write(file(), format!("# {compiler}\n{}", lines.collect::<String>())).unwrap();
    } else if of_compiler == compiler {
        let longer = |(kind, count): &(&String, &f64)| noted.get(*kind).is_none_or(|noted| **count > noted * (1.0 + TOLERANCE));
        let longer: Vec<_> = counted.iter().filter(longer).collect();
        assert!(
            longer.is_empty(),
            "more instructions than benches/speed/instructions.tsv says, by over {} %: {longer:?}. If there is a reason: cargo bench -- \
             instructions --renew",
            100.0 * TOLERANCE
        );
    } else {
        println!("instructions: not compared, because they were noted for {of_compiler} and not for {compiler}");
    }
}

/// The name and version of the compiler.
fn compiler() -> String {
    let output = Command::new("rustc").arg("--version").output().expect("the compiler is installed");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/speed/instructions.tsv")
}

/// The compiler for which counts are noted, and the counts by kind.
fn noted() -> (String, BTreeMap<String, f64>) {
    let text = fs::read_to_string(file()).unwrap_or_default();
    let compiler = text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or_default().to_owned();
    let entry = |line: &str| line.split_once('\t').map(|(kind, count)| (kind.to_owned(), count.parse().unwrap()));
    (compiler, text.lines().filter_map(entry).collect())
}

/// The instructions for one request of each kind.
fn count() -> BTreeMap<String, f64> {
    let counted = Program::own().under(&Callgrind::COMMAND);
    let service = Service::of(&counted, &[("PORTICO_GATEWAYS__CALLBACKS_PER_MINUTE", "4000000000")]);
    customers::insert(&service, CUSTOMERS, None);
    Database::of(&service).execute("update stores set texts_per_day = 1000000, texts_per_country_and_day = 1000000; analyze");
    let key = service.store_key();
    let me = |token: &String| request("GET", "/storefront/v1/customers/me", &[("authorization", &key), ("customer-token", token)], "");
    let tokens: Vec<_> = customers::sign_in(&service).iter().map(me).collect();
    let (mut next_token, mut next_customer) = (tokens.iter().cycle(), 0);
    let gateway = callbacks::card_gateway(&service);
    let mut next_payment = callbacks::payments(&gateway);
    let publisher = Publisher::of(&service);
    let event = publisher.one("order.created");
    let mut caller = Caller::connect(service.address);
    let mut counting = Counting { callgrind: Callgrind::of(&service), counted: BTreeMap::new() };

    counting.count("customers/me", MANY, || drop(caller.ask(200, &tokens[0])));
    counting.count("customers/me, looked up", MANY, || drop(caller.ask(200, next_token.next().unwrap())));
    counting.count("event", MANY, || drop(caller.ask(201, &event)));
    counting.count("callback", MANY, || drop(caller.ask(200, &next_payment())));
    counting.count("sign-in by code", MANY / BATCH, || {
        codes::sign_in_one_by_one(&mut caller, &key, next_customer);
        next_customer += BATCH;
    });
    *counting.counted.get_mut("sign-in by code").unwrap() /= BATCH as f64;

    let sink = Sink::open(&service, 1);
    hub::subscribe(&service, &sink.urls, "*");
    let (batch, mut published) = (publisher.many("order.created", MANY), 0);
    counting.count("delivery", 1, || {
        caller.ask(201, &batch);
        published += MANY;
        sink.await_arrivals(published);
        hub::await_recorded(&service);
    });
    *counting.counted.get_mut("delivery").unwrap() /= MANY as f64;
    counting.counted
}

struct Counting {
    callgrind: Callgrind,
    counted: BTreeMap<String, f64>,
}

impl Counting {
    /// Counts the instructions for one run of `work`, without those that the idle service needs in the same time.
    fn count(&mut self, kind: &str, times: usize, mut work: impl FnMut()) {
        work();
        let rounds = (0..ROUNDS).map(|_| {
            let begin = Instant::now();
            let busy = self.callgrind.instructions(|| (0..times).for_each(|_| work()));
            let took = begin.elapsed();
            let idle = self.callgrind.instructions(|| sleep(Duration::from_secs(1)));
            (busy - idle * took.as_secs_f64()) / times as f64
        });
        let least = rounds.fold(f64::INFINITY, f64::min);
        self.counted.insert(kind.to_owned(), least);
    }
}
