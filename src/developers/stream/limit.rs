//! Limits the number of concurrent streams of this instance.

use crate::kernel::ids::CompanyId;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::rate_limit::{ConcurrencyLimiter, Full, Slot};

const MAX_PER_COMPANY: usize = 20;
/// The limit over all companies.
const MAX_STREAMS: usize = 500;
/// The `Retry-After` of a rejected request, in seconds.
const RETRY_AFTER_SECONDS: u64 = 10;

/// Counts the open streams.
#[derive(Debug)]
pub(super) struct StreamLimit(ConcurrencyLimiter<CompanyId>);

/// One open stream. Dropped when the stream ends.
pub(super) type StreamSlot = Slot<CompanyId>;

impl StreamLimit {
    pub(super) fn new() -> Self {
        Self(ConcurrencyLimiter::new(MAX_PER_COMPANY, MAX_STREAMS))
    }

    /// Counts one more stream, if the limits allow it.
    pub(super) fn acquire(&self, company: CompanyId) -> Result<StreamSlot, Problem> {
        let refusal = |full| match full {
            Full::Caller => Problem::new(ProblemCode::RateLimited)
                .detail(format!("The company already has {MAX_PER_COMPANY} open streams on this instance, which is the maximum.")),
            Full::Everybody => Problem::new(ProblemCode::Overloaded),
        };
        self.0.enter(company).map_err(|full| refusal(full).retry_after(RETRY_AFTER_SECONDS))
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
