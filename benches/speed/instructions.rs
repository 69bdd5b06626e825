//! Instructions of the service for one request of a kind, counted by Callgrind (package `valgrind`). No clock and no other program blurs them, so
//! a change of a few percent shows that is lost in the noise of every other figure. PostgreSQL is not counted, and neither is the kernel.
//!
//! Requests come one at a time, because the size of groups depends on the scheduler. What the idle service does meanwhile is counted too, and
//! taken off.
//!
//! The counts are compared with those of a release, which `instructions.tsv` names and keeps until the next one: compared with the change before,
//! many small steps would add up unseen. They are compared if the compiler is the one that the file names. Whoever has lengthened a path for a
//! reason writes behind its count by how many percent, and the reason. A release writes the file anew: `cargo bench -- instructions --renew 0.2.0`.

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
const FILE: &str = "benches/speed/instructions.tsv";
/// What the file says of itself.
const HEAD: &str = "# Instructions of the service for one request of each kind. A line has the kind and the count of the release and, if the kind may cost more
# than that until the next release, by how many percent and why. Written by: cargo bench -- instructions --renew RELEASE
";

pub fn measure(figures: &mut Figures, renewed_for: Option<&str>) {
    let (compiler, baseline) = (compiler(), Baseline::read());
    let is_there = renewed_for == Some(baseline.release.as_str()) && baseline.compiler == compiler;
    assert!(!is_there, "{FILE} has the counts of {} already, and keeps them until the next release", baseline.release);
    let counted = count();
    for (kind, count) in &counted {
        let before = baseline.noted.get(kind).map(|noted| format!("{}: {:.0}", baseline.release, noted.count));
        figures.show(&format!("instructions, {kind}"), *count, Aim::Stated, &before.unwrap_or_else(|| "not noted".to_owned()));
    }
    if let Some(release) = renewed_for {
        let lines = counted.iter().map(|(kind, count)| format!("{kind}\t{count:.0}\n"));
        fs::write(file(), format!("{HEAD}# release {release}\n# {compiler}\n{}", lines.collect::<String>())).unwrap();
    } else if baseline.compiler == compiler {
        let longer: Vec<_> = counted.iter().filter(|(kind, count)| baseline.is_exceeded_by(kind, **count)).collect();
        assert!(
            longer.is_empty(),
            "more instructions than {FILE} says of the release {}, by over {} % and what is granted: {longer:?}. If there is a reason, write it \
             behind the count, with the percentage",
            baseline.release,
            100.0 * TOLERANCE
        );
    } else {
        println!("instructions: not compared, because they were noted for {} and not for {compiler}", baseline.compiler);
    }
}

/// The name and version of the compiler.
fn compiler() -> String {
    let output = Command::new("rustc").arg("--version").output().expect("the compiler is installed");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE)
}

/// What counts are compared with.
#[derive(Default)]
struct Baseline {
    /// The release whose counts are noted.
    release: String,
    /// The compiler for which they are.
    compiler: String,
    /// By kind.
    noted: BTreeMap<String, Noted>,
}

struct Noted {
    count: f64,
    /// By how much it may be exceeded, beside the tolerance.
    granted: f64,
}

impl Baseline {
    fn read() -> Self {
        let (text, mut this) = (fs::read_to_string(file()).unwrap_or_default(), Self::default());
        for line in text.lines() {
            match line.strip_prefix("# ") {
                Some(told) if told.starts_with("rustc ") => this.compiler = told.to_owned(),
                Some(told) => this.release = told.strip_prefix("release ").map_or(this.release, str::to_owned),
                None => {
                    let (kind, noted) = Noted::read(line);
                    this.noted.insert(kind.to_owned(), noted);
                }
            }
        }
        this
    }

    /// Whether this is too much for this kind. What is not noted is.
    fn is_exceeded_by(&self, kind: &str, count: f64) -> bool {
        self.noted.get(kind).is_none_or(|noted| count > noted.count * (1.0 + TOLERANCE + noted.granted))
    }
}

impl Noted {
    /// Reads a line: the kind and what is noted of it.
    fn read(line: &str) -> (&str, Self) {
        let cells: Vec<_> = line.split('\t').collect();
        let number = |cell: &str| cell.parse::<f64>().expect("counts and percentages are numbers");
        match *cells {
            [kind, count] => (kind, Self { count: number(count), granted: 0.0 }),
            [kind, count, percent, _reason] => (kind, Self { count: number(count), granted: number(percent) / 100.0 }),
            _ => panic!("{FILE}: a line has a kind and a count, or both with a percentage and a reason: {line}"),
        }
    }
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
