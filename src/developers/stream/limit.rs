//! Limits the number of concurrent streams of this instance.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::kernel::ids::CompanyId;
use crate::kernel::problem::{Problem, ProblemCode};

const MAX_PER_COMPANY: usize = 20;
/// The limit over all companies.
const MAX_STREAMS: usize = 500;
/// The `Retry-After` of a rejected request, in seconds.
const RETRY_AFTER_SECONDS: u64 = 10;

/// Counts the open streams.
#[derive(Debug, Default)]
pub(super) struct StreamLimit(Mutex<HashMap<CompanyId, usize>>);

/// One open stream. Dropped when the stream ends.
#[derive(Debug)]
pub(super) struct StreamSlot {
    limit: Arc<StreamLimit>,
    company: CompanyId,
}

impl StreamLimit {
    /// Counts one more stream, if the limits allow it.
    pub(super) fn acquire(self: &Arc<Self>, company: CompanyId) -> Result<StreamSlot, Problem> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if open.values().sum::<usize>() >= MAX_STREAMS {
            return Err(Problem::new(ProblemCode::Overloaded).retry_after(RETRY_AFTER_SECONDS));
        }
        let of_company = open.entry(company).or_default();
        if *of_company >= MAX_PER_COMPANY {
            let detail = format!("The company already has {MAX_PER_COMPANY} open streams on this instance, which is the maximum.");
            return Err(Problem::new(ProblemCode::RateLimited).detail(detail).retry_after(RETRY_AFTER_SECONDS));
        }
        *of_company += 1;
        Ok(StreamSlot { limit: Arc::clone(self), company })
    }
}

impl Drop for StreamSlot {
    fn drop(&mut self) {
        let mut open = self.limit.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(of_company) = open.get_mut(&self.company) {
            *of_company -= 1;
            if *of_company == 0 {
                open.remove(&self.company);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn a_company_has_so_many_streams_and_no_more_and_all_have_so_many_together() {
        let limit = Arc::<StreamLimit>::default();
        let mut open: Vec<_> = (0..MAX_PER_COMPANY).map(|_| limit.acquire(Uuid::from_u128(1).into()).unwrap()).collect();
        assert_eq!(limit.acquire(Uuid::from_u128(1).into()).unwrap_err().code(), ProblemCode::RateLimited);
        open.pop();
        open.push(limit.acquire(Uuid::from_u128(1).into()).unwrap());
        open.extend((MAX_PER_COMPANY..MAX_STREAMS).map(|company| limit.acquire(Uuid::from_u128(company as u128).into()).unwrap()));
        assert_eq!(limit.acquire(Uuid::from_u128(9_999).into()).unwrap_err().code(), ProblemCode::Overloaded);
        drop(open);
        assert!(limit.0.lock().unwrap().is_empty());
    }
}
