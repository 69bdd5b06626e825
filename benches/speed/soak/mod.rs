//! Everything at once, for twenty minutes: customers and systems send half of what two instances behind a proxy can answer, while every half
//! minute one of the instances is killed or upgraded. What was acknowledged has to arrive, and nothing may fail but what a killed instance
//! was answering.
//!
//! ```text
//!  load        sends the requests of a shop             call, shop
//!  proxy       sends them on to an instance that is ready
//!  instances   are killed and upgraded in turns
//!  watch       reads what they say of themselves        metrics
//!  report      prints it, a line for each minute
//! ```
//!
//! In the first half of the time the faults happen to the second instance, and then to the first one, so that each lives for ten minutes
//! and shows whether its memory grows.

mod call;
mod instances;
mod load;
mod metrics;
mod proxy;
mod report;
mod shop;
mod verdict;
mod watch;

use std::collections::HashSet;
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use self::instances::{Fault, Happened, Instance};
use self::proxy::Proxy;
use self::shop::{Shop, mark};
use self::verdict::Soak;
use self::watch::{Asked, Look, Watch, looks};
use crate::figures::Figures;
use crate::support::hub;
use crate::support::service::Service;
use crate::support::sink::{Answer, Sink};

/// The time between two faults; the first one comes after a third of it.
const TURN: Duration = Duration::from_secs(30);
/// When everything must have arrived after the last request: what a killed instance had in flight is sent again within ten seconds.
const ARRIVAL: Duration = Duration::from_secs(15);
const MINUTE: Duration = Duration::from_secs(60);
/// The time of a quick run, which has one fault of each kind, and the time between them.
const QUICK: Duration = Duration::from_secs(20);
const QUICK_TURN: Duration = Duration::from_secs(10);

pub fn measure(figures: &mut Figures, minutes: u32) {
    // It holds PostgreSQL and the demonstration company, and is asked for nothing else. The server has as many connections as it may need.
    let holder = Service::start(&[("PORTICO_DATABASE__MAX_CONNECTIONS", "150")]).restart(&["--no-worker"]);
    let sink = Sink::noting(&holder, &[Answer::AtOnce], mark);
    hub::subscribe(&holder, &sink.urls, "*");
    let instances = Instance::two(&holder);
    let proxy = Proxy::before([instances[0].address, instances[1].address]);
    let shop = Shop::open(&holder, proxy.address);

    let (time, turn, row) = if figures.quick { (QUICK, QUICK_TURN, QUICK / 5) } else { (MINUTE * minutes, TURN, MINUTE) };
    let brief = Duration::from_secs(if figures.quick { 3 } else { 20 });
    load::capacity(&shop, brief);
    let capacity = load::capacity(&shop, brief);
    let earlier = std::mem::take(&mut *shop.ledger());
    assert!(earlier.failures.is_empty(), "requests failed while the capacity was measured: {:?}", earlier.failures);

    let (begin, per_second) = (Instant::now(), capacity / 2.0);
    println!("soak: {per_second:.0} requests/s, half of {capacity:.0}/s, for {} s", time.as_secs());
    let (look, asked) = looks();
    let (happened, watch) = thread::scope(|scope| {
        scope.spawn(|| load::offer(&shop, per_second, time));
        let watching = scope.spawn(|| observe(&instances, &shop, begin, time, row, asked));
        // On this thread: when the thread that started a process ends, the process ends too.
        (cause(&instances, &look, begin, time, turn), watching.join().unwrap())
    });
    let ledger = std::mem::take(&mut *shop.ledger());
    let lost = lost(&sink, ledger.acknowledged.iter().chain(&earlier.acknowledged));
    let different = sink.arrivals().len();
    let repeated = sink.received().arrivals.len() - different;
    let signed_in = load::count_signed_in(&shop, &ledger.tokens);
    Soak { begin, time, capacity, happened, watch, ledger, lost, repeated, signed_in }.judge(figures);
}

/// Kills and upgrades in turns. What an instance has counted is read before it is killed.
fn cause(instances: &[Instance; 2], look: &Look, begin: Instant, time: Duration, turn: Duration) -> Vec<Happened> {
    let turns = (0..).map(|number| turn / 3 + turn * number).take_while(|at| *at < time);
    let faults = turns.zip([Fault::Kill, Fault::Upgrade].into_iter().cycle()).map(|(at, fault)| {
        sleep((begin + at).saturating_duration_since(Instant::now()));
        let instance = usize::from(at < time / 2);
        if fault == Fault::Kill {
            look.now();
        }
        let at = begin.elapsed();
        Happened { at, instance, fault, took: instances[instance].suffer(fault) }
    });
    faults.collect()
}

/// Reads the metrics, and prints what they say.
fn observe<'a>(instances: &'a [Instance; 2], shop: &Shop, begin: Instant, time: Duration, row: Duration, asked: Asked) -> Watch<'a> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut watch = Watch::begin(instances, begin, asked).await;
        report::head();
        for number in 0..time.as_secs() / row.as_secs() {
            let from = row * u32::try_from(number).unwrap();
            let span = watch.until(begin + from + row).await;
            report::row(from, row, &span, &shop.ledger().failures_since(begin + from));
        }
        watch.until(Instant::now() + ARRIVAL / 2).await;
        watch
    })
}

/// What was acknowledged and has not arrived in time.
fn lost<'a>(sink: &Sink, acknowledged: impl Iterator<Item = &'a String>) -> Vec<String> {
    let (mut missing, until) = (acknowledged.cloned().collect::<HashSet<_>>(), Instant::now() + ARRIVAL);
    let mut seen = 0;
    loop {
        let arrived: Vec<_> = sink.received().arrivals[seen..].iter().map(|(mark, _)| mark.clone()).collect();
        seen += arrived.len();
        for mark in &arrived {
            missing.remove(mark);
        }
        if missing.is_empty() || Instant::now() > until {
            return missing.into_iter().collect();
        }
        sleep(Duration::from_millis(100));
    }
}
