//! Limits the number of concurrent streams of this instance.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::kernel::ids::CompanyId;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::tally::{Counted, Tally};

const MAX_PER_COMPANY: usize = 20;
/// The limit over all companies.
const MAX_STREAMS: usize = 500;
/// The `Retry-After` of a rejected request, in seconds.
const RETRY_AFTER_SECONDS: u64 = 10;

/// Counts the open streams.
#[derive(Debug)]
pub(super) struct StreamLimit {
    all: Arc<Semaphore>,
    by_company: Tally<CompanyId>,
}

/// One open stream. Dropped when the stream ends.
#[derive(Debug)]
pub(super) struct StreamSlot {
    _place: OwnedSemaphorePermit,
    _counted: Counted<CompanyId>,
}

impl StreamLimit {
    pub(super) fn new() -> Self {
        Self { all: Arc::new(Semaphore::new(MAX_STREAMS)), by_company: Tally::default() }
    }

    /// Counts one more stream, if the limits allow it.
    pub(super) fn acquire(&self, company: CompanyId) -> Result<StreamSlot, Problem> {
        let place = Arc::clone(&self.all).try_acquire_owned();
        let place = place.map_err(|_| Problem::new(ProblemCode::Overloaded).retry_after(RETRY_AFTER_SECONDS))?;
        let counted = self.by_company.take(company, MAX_PER_COMPANY).ok_or_else(|| {
            let detail = format!("The company already has {MAX_PER_COMPANY} open streams on this instance, which is the maximum.");
            Problem::new(ProblemCode::RateLimited).detail(detail).retry_after(RETRY_AFTER_SECONDS)
        })?;
        Ok(StreamSlot { _place: place, _counted: counted })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn a_company_has_so_many_streams_and_no_more_and_all_have_so_many_together() {
        let limit = StreamLimit::new();
        let mut open: Vec<_> = (0..MAX_PER_COMPANY).map(|_| limit.acquire(Uuid::from_u128(1).into()).unwrap()).collect();
        assert_eq!(limit.acquire(Uuid::from_u128(1).into()).unwrap_err().code(), ProblemCode::RateLimited);
        open.pop();
        open.push(limit.acquire(Uuid::from_u128(1).into()).unwrap());
        open.extend((MAX_PER_COMPANY..MAX_STREAMS).map(|company| limit.acquire(Uuid::from_u128(company as u128).into()).unwrap()));
        assert_eq!(limit.acquire(Uuid::from_u128(9_999).into()).unwrap_err().code(), ProblemCode::Overloaded);
        drop(open);
        assert!(limit.acquire(Uuid::from_u128(9_999).into()).is_ok());
    }
}
