//! The refunds of a payment: what was refunded, and how much of it callbacks have reported.

use std::collections::BTreeMap;

use crate::gateways::facts::{Fact, FactKind};

/// Sums are wider than amounts, so that no number of the largest amounts exceeds them.
pub(super) type Sum = i128;

/// The refunds in one currency that the facts about a payment report. Of repeated facts about one refund, the largest amount counts.
#[derive(Clone, Debug, Default)]
pub struct Refunds {
    /// The refunds that were made, by reference.
    made: BTreeMap<String, i64>,
    /// The refunds that failed, made before or not, by reference.
    failed: BTreeMap<String, i64>,
    /// What each new total of all refunds added, by total.
    added: BTreeMap<String, i64>,
    /// The sum of what was made and did not fail.
    one_by_one: Sum,
    /// The sum of what failed.
    came_back: Sum,
    /// The largest total of all refunds, and of what was released.
    in_all: i64,
    /// Whether a total did not say what is new in it.
    has_bare_total: bool,
    /// How many refunds of each amount there are.
    counts: BTreeMap<i64, Count>,
    /// The sum of the amounts, each as often as it counts.
    matched: Sum,
}

/// How many refunds of one amount are reported by name, and by new totals.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    named: i64,
    summed: i64,
    /// Those by name that did not fail.
    lasting: i64,
}

impl Count {
    fn most(self) -> Sum {
        self.named.max(self.summed).into()
    }

    /// The same without one of those by name.
    fn without_one(self) -> Self {
        Self { named: (self.named - 1).max(0), lasting: (self.lasting - 1).max(0), ..self }
    }
}

impl Refunds {
    /// Adds a fact; those that are not about refunds change nothing.
    pub fn add(&mut self, fact: &Fact) {
        if let Some(total) = fact.total {
            self.in_all = self.in_all.max(total);
            self.has_bare_total |= fact.amount.is_none();
        }
        let amount = fact.amount.unwrap_or(0);
        match fact.kind {
            FactKind::RefundProcessed => {
                let (before, now) = raise(&mut self.made, &fact.reference, amount);
                if !self.failed.contains_key(&fact.reference) {
                    self.one_by_one += Sum::from(now) - Sum::from(before.unwrap_or(0));
                    self.recount(before, now, |count| &mut count.lasting);
                }
                self.recount(before, now, |count| &mut count.named);
            }
            FactKind::RefundFailed => {
                let (before, now) = raise(&mut self.failed, &fact.reference, amount);
                self.came_back += Sum::from(now) - Sum::from(before.unwrap_or(0));
                if before.is_none()
                    && let Some(made) = self.made.get(&fact.reference)
                {
                    self.one_by_one -= Sum::from(*made);
                    self.counts.entry(*made).or_default().lasting -= 1;
                }
            }
            FactKind::RefundedInAll => {
                let (before, now) = raise(&mut self.added, &fact.reference, amount);
                self.recount(before, now, |count| &mut count.summed);
            }
            _ => {}
        }
    }

    /// A refund that had one amount, or was not known, has another one now. An amount of zero makes no difference.
    fn recount(&mut self, before: Option<i64>, now: i64, reported: impl Fn(&mut Count) -> &mut i64) {
        if before == Some(now) {
            return;
        }
        for (amount, change) in before.map(|before| (before, -1)).into_iter().chain([(now, 1)]) {
            let count = self.counts.entry(amount).or_default();
            let most = count.most();
            *reported(count) += change;
            self.matched += Sum::from(amount) * (count.most() - most);
        }
    }

    /// The refunded amount, in minor units, if so much of what had been authorised was released. A refund that was made and then failed does
    /// not count. A gateway that reports both each refund and the total reports the same money twice, so the larger of the two sums counts.
    pub fn refunded(&self, released: i64) -> i64 {
        let count = self.released(released);
        let one_by_one = self.one_by_one - Sum::from(released) * Sum::from(count.lasting - count.without_one().lasting);
        amount(one_by_one.max(self.total(released) - self.came_back).max(0))
    }

    /// The refunds of the amount that was released. One of those by name is the release itself.
    fn released(&self, released: i64) -> Count {
        self.counts.get(&released).copied().unwrap_or_default()
    }

    /// The largest total of all refunds alone.
    fn total(&self, released: i64) -> Sum {
        (Sum::from(self.in_all) - Sum::from(released)).max(0)
    }

    /// The sum of the refunds that the facts report, in minor units. `refund.processed` is published whenever it grows, with the amount
    /// of the growth, so the published amounts always add up to it.
    ///
    /// A refund that is reported both individually and as part of a new total can only be matched by its amount: for each amount, the
    /// larger count of the two applies. Every fact then adds the amount of its own refund or nothing, in whatever order the facts arrive.
    ///
    /// A total that does not say what is new in it cannot be matched. From the first of these on, the largest total is the least that
    /// was refunded, and what one fact adds depends on those before it. Learning later that some of it was released makes the sum smaller.
    pub fn reported(&self, released: i64) -> i64 {
        let count = self.released(released);
        let matched = self.matched - Sum::from(released) * (count.most() - count.without_one().most());
        amount(if self.has_bare_total { matched.max(self.total(released)) } else { matched })
    }
}

/// Sets the amount of a reference, unless a larger one is known. Returns the amount before and the amount now.
pub(super) fn raise(amounts: &mut BTreeMap<String, i64>, reference: &str, amount: i64) -> (Option<i64>, i64) {
    match amounts.get_mut(reference) {
        Some(known) => {
            let before = *known;
            *known = before.max(amount);
            (Some(before), *known)
        }
        None => {
            let now = amount.max(0);
            amounts.insert(reference.to_owned(), now);
            (None, now)
        }
    }
}

/// The sum as an amount; beyond all of them, the largest.
pub(super) fn amount(sum: Sum) -> i64 {
    i64::try_from(sum).unwrap_or(i64::MAX)
}
