//! Limits the number of concurrent streams of this instance.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::callers::Party;
use crate::kernel::ids::CompanyId;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::rate_limit::line::{Entered, Lines, Turn};

/// One key has four fifths of them at most.
const MAX_PER_COMPANY: usize = 20;
/// The limit over all companies.
const MAX_STREAMS: usize = 500;
/// The `Retry-After` of a rejected request, in seconds.
const RETRY_AFTER_SECONDS: u64 = 10;

/// Counts the open streams.
#[derive(Debug)]
pub(super) struct StreamLimit {
    of_company: Lines<CompanyId, Option<Party>>,
    of_all: Arc<Semaphore>,
}

/// One open stream. Dropped when the stream ends.
pub(super) struct StreamSlot {
    _of_company: Turn<CompanyId, Option<Party>>,
    _of_all: OwnedSemaphorePermit,
}

impl StreamLimit {
    pub(super) fn new() -> Self {
        Self { of_company: Lines::shared(MAX_PER_COMPANY, 0), of_all: Arc::new(Semaphore::new(MAX_STREAMS)) }
    }

    /// Counts one more stream, if the limits allow it.
    pub(super) fn acquire(&self, company: CompanyId, party: Option<Party>) -> Result<StreamSlot, Problem> {
        let Ok(Entered::Turn(turn)) = self.of_company.enter(company, party) else {
            let problem = Problem::new(ProblemCode::RateLimited).detail(format!(
                "The company has {MAX_PER_COMPANY} open streams on this instance at most, and one API key four fifths of them."
            ));
            return Err(problem.retry_after(RETRY_AFTER_SECONDS));
        };
        match Arc::clone(&self.of_all).try_acquire_owned() {
            Ok(place) => Ok(StreamSlot { _of_company: turn, _of_all: place }),
            Err(_) => Err(Problem::new(ProblemCode::Overloaded).retry_after(RETRY_AFTER_SECONDS)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn key(number: usize) -> Option<Party> {
        Some(Party::Key(Uuid::from_u128(number as u128).into()))
    }

    fn company(number: usize) -> CompanyId {
        Uuid::from_u128(number as u128).into()
    }

    #[test]
    fn one_key_has_four_fifths_of_the_streams_of_its_company_and_all_have_so_many_together() {
        let limit = StreamLimit::new();
        let mut open: Vec<_> = (0..16).map(|_| limit.acquire(company(1), key(1)).unwrap()).collect();
        assert_eq!(limit.acquire(company(1), key(1)).err().unwrap().code(), ProblemCode::RateLimited);
        open.extend((2..5).map(|other| limit.acquire(company(1), key(other)).unwrap()));
        open.swap_remove(0);
        open.push(limit.acquire(company(1), key(9)).unwrap());
        let others = (open.len()..MAX_STREAMS).map(|number| limit.acquire(company(100 + number), key(1)).unwrap());
        let others: Vec<_> = others.collect();
        assert_eq!(limit.acquire(company(9_999), key(1)).err().unwrap().code(), ProblemCode::Overloaded);
        drop(others);
        assert!(limit.acquire(company(9_999), key(1)).is_ok());
    }
}
