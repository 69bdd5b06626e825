//! Limits the number of concurrent streams of this instance.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::kernel::ids::CompanyId;
use crate::kernel::problem::{Problem, ProblemCode};

/// The limit per company.
const OF_ONE_COMPANY: usize = 20;
/// The limit over all companies.
const OF_ALL: usize = 500;
/// The `Retry-After` of a rejected request, in seconds.
const COME_BACK: u64 = 10;

/// Counts the open streams.
#[derive(Debug, Default)]
pub(super) struct Gate(Mutex<HashMap<CompanyId, usize>>);

/// One open stream. Dropped when the stream ends.
#[derive(Debug)]
pub(super) struct Pass {
    gate: Arc<Gate>,
    company: CompanyId,
}

impl Gate {
    /// Counts one more stream, if the limits allow it.
    pub(super) fn enter(self: &Arc<Self>, company: CompanyId) -> Result<Pass, Problem> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if open.values().sum::<usize>() >= OF_ALL {
            return Err(Problem::new(ProblemCode::Overloaded).retry_after(COME_BACK));
        }
        let of_company = open.entry(company).or_default();
        if *of_company >= OF_ONE_COMPANY {
            let detail = format!("There are {OF_ONE_COMPANY} streams open already, which is all that one company can have here.");
            return Err(Problem::new(ProblemCode::RateLimited).detail(detail).retry_after(COME_BACK));
        }
        *of_company += 1;
        Ok(Pass { gate: Arc::clone(self), company })
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let mut open = self.gate.0.lock().unwrap_or_else(PoisonError::into_inner);
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
        let gate = Arc::<Gate>::default();
        let mut open: Vec<_> = (0..OF_ONE_COMPANY).map(|_| gate.enter(Uuid::from_u128(1).into()).unwrap()).collect();
        assert_eq!(gate.enter(Uuid::from_u128(1).into()).unwrap_err().code(), ProblemCode::RateLimited);
        open.pop();
        open.push(gate.enter(Uuid::from_u128(1).into()).unwrap());
        open.extend((OF_ONE_COMPANY..OF_ALL).map(|company| gate.enter(Uuid::from_u128(company as u128).into()).unwrap()));
        assert_eq!(gate.enter(Uuid::from_u128(9_999).into()).unwrap_err().code(), ProblemCode::Overloaded);
        drop(open);
        assert!(gate.0.lock().unwrap().is_empty());
    }
}
