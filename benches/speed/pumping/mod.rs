//! SMS pumping: what attackers get out of a store, and which customers it refuses because of them. Five patterns that operators and providers
//! have published, each beside the customers of a day, and the evening of a sale with ten times as many.
//!
//! The real router judges every request, over a real database; time is moved, so a day takes seconds. Chance has a fixed seed.
//!
//! The store sends at most 10,000 texts a day, ten times what it needs on a usual one, and has the other limits of a new store. A text is
//! *lost* if it went to a number of the attackers. A customer is *refused* if a request for a code is answered with anything but 200.

mod attackers;
mod chance;
mod customers;
mod numbers;
mod shop;

use std::collections::{BinaryHeap, VecDeque};

use crate::figures::{Aim, Figures};
use attackers::Pattern;
use chance::Chance;
use shop::Shop;

/// Texts that the store may send in a day.
const BUDGET: u32 = 10_000;
/// Texts that customers ask for on a usual day.
const USUAL: usize = 1_000;
/// How much more that is on the day of a sale.
const SALE: usize = 10;
/// The attacks begin at seven in the morning, when the store has known its customers for a night.
const HOUR: f64 = 3_600.0;

/// What happens at one moment.
#[derive(Clone, Debug)]
enum Step {
    /// Somebody asks to be registered.
    Register { number: String, address: String, uses_code_after: Option<f64>, is_attack: bool },
    /// A customer who has registered asks to sign in.
    SignIn { address: String },
    /// Somebody uses the code of the last text to the number.
    UseCode { number: String, address: String, is_attack: bool },
}

/// A step, by its time in seconds; the earliest is the greatest.
#[derive(Clone, Debug)]
struct Timed(f64, Step);

impl PartialEq for Timed {
    fn eq(&self, other: &Self) -> bool {
        self.0.total_cmp(&other.0).is_eq()
    }
}

impl Eq for Timed {}

impl PartialOrd for Timed {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timed {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.0.total_cmp(&self.0)
    }
}

/// What came of a day.
#[derive(Debug, Default)]
struct Outcome {
    attacks: u32,
    lost: u32,
    asked: u32,
    refused: u32,
}

impl Outcome {
    fn percent_lost(&self) -> f64 {
        f64::from(self.lost) * 100.0 / f64::from(BUDGET)
    }

    fn percent_refused(&self) -> f64 {
        f64::from(self.refused) * 100.0 / f64::from(self.asked.max(1))
    }
}

pub fn measure(figures: &mut Figures) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    // In the quick form, days have fewer customers, attacks are shorter, and there are fewer sweeps, which take most of the time.
    let (usual, share) = (figures.many(USUAL, USUAL / 10), if figures.quick { 0.05 } else { 1.0 });
    let mut days = Vec::new();
    for pattern in Pattern::ALL {
        let day = runtime.block_on(live_through(usual, Some(pattern), share));
        days.push((pattern.name(), day));
    }
    days.push((
        "the day of a sale, nobody attacks",
        runtime.block_on(live_through(usual * SALE / if figures.quick { 5 } else { 1 }, None, share)),
    ));
    println!("pumping, | pattern | texts asked for by attackers | got | % of the budget | texts asked for by customers | refused | % |");
    for (name, day) in &days {
        println!(
            "pumping, | {name} | {} | {} | {:.2} | {} | {} | {:.2} |",
            day.attacks,
            day.lost,
            day.percent_lost(),
            day.asked,
            day.refused,
            day.percent_refused()
        );
    }
    let worst = |of: fn(&Outcome) -> f64| days.iter().map(|(_, day)| of(day)).fold(0.0, f64::max);
    figures.show(
        "pumping, lost to attackers in % of the budget",
        worst(Outcome::percent_lost),
        Aim::AtMost(2.0),
        "the worst of the days above",
    );
    figures.show("pumping, customers refused in %", worst(Outcome::percent_refused), Aim::AtMost(0.5), "the worst of the days above");
}

/// A day with so many texts to customers, from midnight to the next midnight.
async fn live_through(texts: usize, pattern: Option<Pattern>, share: f64) -> Outcome {
    let shop = Shop::open(BUDGET).await;
    let mut chance = Chance::new(20_260_521);
    let mut steps: BinaryHeap<Timed> = customers::day(texts, pattern.is_none(), &mut chance).collect();
    if let Some(pattern) = pattern {
        steps.extend(pattern.steps(7.0 * HOUR, share, &mut chance));
    }
    let (mut outcome, mut registered, mut now) = (Outcome::default(), VecDeque::<String>::new(), 0.0);
    let mut swept_at = 0.0;
    while let Some(Timed(at, step)) = steps.pop() {
        shop.pass(at - now);
        now = at;
        if now - swept_at > if share < 1.0 { 3.0 * HOUR } else { 600.0 } {
            shop.sweep().await;
            swept_at = now;
        }
        match step {
            Step::Register { number, address, uses_code_after, is_attack } => {
                let is_sent = shop.ask_to_register(&number, &address).await;
                match is_attack {
                    true => (outcome.attacks, outcome.lost) = (outcome.attacks + 1, outcome.lost + u32::from(is_sent)),
                    false => (outcome.asked, outcome.refused) = (outcome.asked + 1, outcome.refused + u32::from(!is_sent)),
                }
                if let (true, Some(after)) = (is_sent, uses_code_after) {
                    steps.push(Timed(now + after, Step::UseCode { number, address, is_attack }));
                }
            }
            // Who has signed in does not come back on the same day; early in the day, nobody may be left.
            Step::SignIn { address } => {
                let Some(number) = registered.pop_front() else { continue };
                let is_sent = shop.ask_to_sign_in(&number, &address).await;
                (outcome.asked, outcome.refused) = (outcome.asked + 1, outcome.refused + u32::from(!is_sent));
            }
            Step::UseCode { number, address, is_attack } => {
                shop.use_code(&number, &address).await;
                if !is_attack {
                    registered.push_back(number);
                }
            }
        }
    }
    shop.close().await;
    outcome
}
