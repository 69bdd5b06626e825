//! What the soak shows, and what must hold.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::instances::{Fault, Happened};
use super::shop::{Failure, Ledger};
use super::watch::Watch;
use crate::figures::{Aim, Figures, millis};
use crate::support::publisher::percentile;

/// How long after a killed instance is ready again a request that it broke off may be noticed.
const AFTERMATH: Duration = Duration::from_secs(1);
/// The most that the metrics may miss: what an instance counts between the last look at it and its end.
const UNCOUNTED: f64 = 0.03;
/// The most that the memory of an instance may grow.
const GROWTH: f64 = 1.25;

/// A soak that is over.
pub struct Soak<'a> {
    pub begin: Instant,
    pub time: Duration,
    /// The most requests that were answered in a second.
    pub capacity: f64,
    pub happened: Vec<Happened>,
    pub watch: Watch<'a>,
    pub ledger: Ledger,
    /// What was acknowledged and has not arrived.
    pub lost: Vec<String>,
    /// Deliveries of what had arrived before.
    pub repeated: usize,
    /// How many tokens of acknowledged sign-ins work.
    pub signed_in: usize,
}

impl Soak<'_> {
    pub fn judge(mut self, figures: &mut Figures) {
        self.ledger.times.sort_unstable();
        self.print();
        self.show(figures);
        let Self { ledger, watch, .. } = &self;
        // A quick run says nothing of speed: the machine may be too slow even for half of what it could do a moment ago.
        let is_slowness = |failure: &&Failure| figures.quick && failure.too_much;
        let unexplained: Vec<_> = ledger.failures.iter().filter(|failure| !self.is_of_a_kill(failure) && !is_slowness(failure)).collect();
        assert!(unexplained.is_empty(), "requests failed that no killed instance was answering: {unexplained:?}");
        let given_up: Vec<_> = ledger.given_up.iter().filter(|failure| !is_slowness(failure)).collect();
        assert!(given_up.is_empty(), "requests failed again: {given_up:?}");
        assert!(
            self.lost.is_empty(),
            "{} of {} were acknowledged and have not arrived: {:?}",
            self.lost.len(),
            ledger.acknowledged.len(),
            self.lost
        );
        assert_eq!(self.signed_in, ledger.tokens.len(), "every acknowledged sign-in has a token that works");
        let counted = watch.whole.requests() / self.sent();
        assert!((counted - 1.0).abs() < UNCOUNTED, "the metrics have {counted:.3} of the requests");
        assert_eq!(watch.whole.deliveries.get("failed").copied().unwrap_or_default(), 0.0, "no delivery fails");
        assert!(figures.quick || self.growth().iter().all(|growth| *growth < GROWTH), "memory grows: {:?}", self.growth());
    }

    /// Prints what happened in all.
    fn print(&self) {
        let list =
            |counts: &BTreeMap<String, f64>| counts.iter().map(|(name, count)| format!("{count:.0} {name}")).collect::<Vec<_>>().join(", ");
        println!("\nanswers by status: {}", list(&self.watch.whole.answers));
        println!("deliveries by state: {}", list(&self.watch.whole.deliveries));
        for (fault, did) in [(Fault::Kill, "killed"), (Fault::Upgrade, "upgraded")] {
            let of_kind: Vec<_> = self.happened.iter().filter(|happened| happened.fault == fault).collect();
            let longest = of_kind.iter().map(|happened| happened.took).max().unwrap_or_default();
            let [one, two] = [0, 1].map(|instance| of_kind.iter().filter(|happened| happened.instance == instance).count());
            println!("{did}: one {one} times, two {two} times; ready again after {:.1} s at most", longest.as_secs_f64());
        }
        for Failure { at, text, .. } in self.ledger.failures.iter().take(5) {
            println!("failed after {:.1} s: {}", at.duration_since(self.begin).as_secs_f64(), text.chars().take(200).collect::<String>());
        }
        println!();
    }

    fn show(&self, figures: &mut Figures) {
        let ledger = &self.ledger;
        let p99 = percentile(&ledger.times, 0.99);
        let parts = format!(
            "ms from when a request was due, at {:.0} requests/s, half of {:.0}/s; p50 {:.2} ms",
            self.sent() / self.time.as_secs_f64(),
            self.capacity,
            millis(percentile(&ledger.times, 0.5))
        );
        figures.show("soak, p99", millis(p99), Aim::TailAtMost(50.0), &parts);
        let parts = format!(
            "of {} acknowledged events, orders and callbacks; {} deliveries were repeated",
            ledger.acknowledged.len(),
            self.repeated
        );
        figures.show("soak, lost", self.lost.len() as f64, Aim::Stated, &parts);
        let parts = format!("of {} tokens of acknowledged sign-ins do not work", ledger.tokens.len());
        figures.show("soak, tokens", (ledger.tokens.len() - self.signed_in) as f64, Aim::Stated, &parts);
        let (kills, broken) = (self.kills().count(), ledger.failures.iter().filter(|failure| self.is_of_a_kill(failure)).count());
        let parts = format!("of {:.0} requests, beside {} upgrades", self.sent(), self.happened.len() - kills);
        figures.show("soak, failed", (ledger.failures.len() - broken) as f64, Aim::Stated, &parts);
        let parts = format!("requests that a killed instance was answering, in {kills} kills; {} failed again", ledger.given_up.len());
        figures.show("soak, broken", broken as f64, Aim::Stated, &parts);
        for (growth, (name, memory)) in
            self.growth().into_iter().zip([("one", self.watch.whole.memory[0]), ("two", self.watch.whole.memory[1])])
        {
            let parts = format!("its memory at the end of its half ÷ at the beginning; {memory:.0} MiB at most");
            figures.show(&format!("soak, growth of {name}"), growth, Aim::AtMost(1.1), &parts);
        }
    }

    fn sent(&self) -> f64 {
        (self.ledger.times.len() + self.ledger.failures.len() + self.ledger.given_up.len()) as f64
    }

    fn kills(&self) -> impl Iterator<Item = &Happened> {
        self.happened.iter().filter(|happened| happened.fault == Fault::Kill)
    }

    /// Whether a killed instance was answering the request.
    fn is_of_a_kill(&self, failure: &Failure) -> bool {
        let at = failure.at.duration_since(self.begin);
        self.kills().any(|kill| Some(kill.instance) == failure.broken_by && (kill.at..kill.at + kill.took + AFTERMATH).contains(&at))
    }

    /// The memory of each instance in the last tenth of the half in which nothing happens to it ÷ in the second tenth, when it is warm.
    fn growth(&self) -> [f64; 2] {
        let tenth = self.time / 20;
        [0, 1].map(|instance| {
            let half = self.time / 2 * u32::try_from(instance).unwrap();
            let mean = |from: Duration| {
                let of = self.watch.memory[instance].iter().filter(|(at, _)| (from..from + tenth).contains(at)).map(|(_, memory)| *memory);
                let (sum, count) = of.fold((0.0, 0.0), |(sum, count), memory| (sum + memory, count + 1.0));
                sum / count
            };
            mean(half + tenth * 9) / mean(half + tenth)
        })
    }
}
