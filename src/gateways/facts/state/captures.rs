//! What was paid, at once or in parts, and what was released of an authorisation instead.

use std::collections::BTreeMap;

use crate::gateways::facts::Fact;
use crate::gateways::facts::state::refunds::{Sum, amount, raise};

/// The sums in one currency that the facts about a payment report as paid. Of repeated facts about one capture, the largest amount counts.
#[derive(Clone, Debug, Default)]
pub struct Captures {
    /// The largest sum that names no capture. A gateway that tells of every capture without its name tells what they come to so far.
    in_all: i64,
    /// What was paid in parts, by reference.
    parts: BTreeMap<String, i64>,
    /// The sum of the parts.
    one_by_one: Sum,
    /// The largest amount that was told to have been released.
    released: i64,
    /// What had been authorised, if the gateway says so.
    authorised: Option<i64>,
}

impl Captures {
    /// Adds a capture, or a sum of all captures, which has no reference. Returns by how much the paid sum grew.
    pub fn add(&mut self, reference: &str, paid: i64) -> i64 {
        let before = self.sum();
        if reference.is_empty() {
            self.in_all = self.in_all.max(paid);
        } else {
            let (before, now) = raise(&mut self.parts, reference, paid);
            self.one_by_one += Sum::from(now) - Sum::from(before.unwrap_or(0));
        }
        self.sum() - before
    }

    /// The paid sum, in minor units. A gateway that reports each capture and what they come to reports the same money twice.
    pub fn sum(&self) -> i64 {
        amount(self.one_by_one.max(self.in_all.into()))
    }

    /// Adds a release.
    pub fn release(&mut self, fact: &Fact) {
        self.released = self.released.max(fact.amount.unwrap_or(0));
        self.authorised = self.authorised.max(fact.total);
    }

    /// What was released, in minor units. What a later capture paid after all was not: so no more than what is left of the authorisation.
    pub fn released(&self) -> i64 {
        let left = self.authorised.map(|authorised| (authorised - self.sum()).max(0));
        left.map_or(self.released, |left| left.min(self.released))
    }
}
