//! The programs of two editions in turns, under the same load on the same machine: the same benchmark on this one, on the other one, on this
//! one again, and so on. What a machine does besides changes from minute to minute, so a round is compared with itself, and the rounds with
//! each other.

use std::collections::BTreeMap;

use crate::figures::{Figures, short};
use crate::support::program::Program;

/// The figures of one program in one round, by name.
type Noted = BTreeMap<String, f64>;

/// A comparison. Its table is printed when it ends, also by an error.
pub struct Turns {
    other: Program,
    rounds: usize,
    quick: bool,
    lines: Vec<String>,
}

impl Turns {
    pub fn with(other: Program, rounds: usize, quick: bool) -> Self {
        Self { other, rounds, quick, lines: Vec::new() }
    }

    /// Measures both programs in turns.
    pub fn measure(&mut self, measure: impl Fn(&mut Figures, &Program)) {
        let measured = |program: &Program, round: usize, name: &str| {
            println!("-- round {round} of {}, {name} program", self.rounds);
            let mut figures = Figures::new(self.quick);
            measure(&mut figures, program);
            figures.noted()
        };
        let own = Program::own();
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for round in 1..=self.rounds {
            ours.push(measured(&own, round, "this"));
            theirs.push(measured(&self.other, round, "the other"));
        }
        let lines: Vec<_> = ours[0].keys().map(|name| line(name, &ours, &theirs)).collect();
        self.lines.extend(lines);
    }
}

impl Drop for Turns {
    fn drop(&mut self) {
        println!("\n| figure | this ÷ other, by round | median | of this ÷ of the other |\n|---|---|---|---|\n{}", self.lines.join("\n"));
    }
}

/// The line of a figure, which both programs have in every round.
fn line(name: &str, ours: &[Noted], theirs: &[Noted]) -> String {
    let [ours, theirs] = [ours, theirs].map(|rounds| rounds.iter().map(|noted| noted[name]).collect::<Vec<f64>>());
    let ratios: Vec<f64> = ours.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs).collect();
    let all = |values: &[f64]| values.iter().map(|value| short(*value)).collect::<Vec<_>>().join(", ");
    format!("| {name} | {} | {} | {} ÷ {} |", all(&ratios), short(median(&ratios)), all(&ours), all(&theirs))
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
}
