//! What was in the way of events a moment ago. What holds up the deliveries of a company seldom ends at once, a backlog in the outbox least of all: to find
//! that out again for each event would cost more than sending some at once gains.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::kernel::ids::CompanyId;

/// How long the events of a company go the usual way after one for which something was in the way.
const PAUSE: Duration = Duration::from_millis(100);
/// How many companies are remembered before those are forgotten for which it is over.
const MANY: usize = 1_000;

/// The companies for which something was in the way, and when.
#[derive(Debug, Default)]
pub struct InTheWay(Mutex<HashMap<CompanyId, Instant>>);

impl InTheWay {
    /// Something was in the way of an event of this company.
    pub fn seen(&self, company: CompanyId, now: Instant) {
        let mut companies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if companies.len() >= MANY {
            companies.retain(|_, seen| now < *seen + PAUSE);
        }
        companies.insert(company, now);
    }

    /// Whether something was in the way a moment ago.
    pub fn was_seen(&self, company: CompanyId, now: Instant) -> bool {
        let companies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        companies.get(&company).is_some_and(|seen| now < *seen + PAUSE)
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    #[test]
    fn it_is_remembered_for_a_moment_and_for_each_company_by_itself() {
        let (in_the_way, now) = (InTheWay::default(), Instant::now());
        let [one, other] = [(); 2].map(|()| CompanyId::new(DateTime::UNIX_EPOCH));
        in_the_way.seen(one, now);
        assert!(in_the_way.was_seen(one, now + PAUSE / 2) && !in_the_way.was_seen(other, now));
        assert!(!in_the_way.was_seen(one, now + PAUSE));
    }

    #[test]
    fn what_is_over_is_forgotten() {
        let (in_the_way, now) = (InTheWay::default(), Instant::now());
        for _ in 0..MANY {
            in_the_way.seen(CompanyId::new(DateTime::UNIX_EPOCH), now);
        }
        in_the_way.seen(CompanyId::new(DateTime::UNIX_EPOCH), now + PAUSE);
        assert_eq!(in_the_way.0.lock().unwrap().len(), 1);
    }
}
