//! Work that keeps a processor busy for milliseconds, such as reading a large body. It has threads of its own, fewer than there are cores,
//! so that the threads that answer requests do not wait for it.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread::available_parallelism;

use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::kernel::limit_key::LimitKey;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::rate_limit::ConcurrencyLimiter;

/// Maximum number of pieces of work that run or wait, for one caller and for all of them. A caller cannot fill the queue alone.
const MAX_OF_EACH: usize = 8;
const MAX_OF_ALL: usize = 64;

/// The threads for the heavy work of callers, identified by `K`. Clones share them.
#[derive(Clone, Debug)]
pub struct HeavyWork<K: LimitKey> {
    places: ConcurrencyLimiter<K>,
    threads: Arc<Semaphore>,
}

impl<K: LimitKey + Copy> HeavyWork<K> {
    /// At most as many threads as half of the cores.
    pub fn new() -> Self {
        let threads = available_parallelism().map_or(1, |cores| cores.get().div_ceil(2));
        Self { places: ConcurrencyLimiter::new(MAX_OF_EACH, MAX_OF_ALL), threads: Arc::new(Semaphore::new(threads)) }
    }

    /// Runs a piece of work of `caller`, or refuses it at once if too much is waiting.
    pub async fn run<T: Send + 'static>(&self, caller: K, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Problem> {
        let _place = self.places.enter(caller).map_err(|_| ProblemCode::Overloaded)?;
        let thread = Arc::clone(&self.threads).acquire_owned().await.map_err(|_| ProblemCode::Internal)?;
        let working = spawn_blocking(move || {
            let _thread = thread;
            work()
        });
        Ok(working.await.unwrap_or_else(|ended| resume_unwind(ended.into_panic())))
    }
}

impl<K: LimitKey + Copy> Default for HeavyWork<K> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, mpsc};

    use futures::future::join_all;

    use super::*;

    #[tokio::test]
    async fn a_caller_has_a_few_places_and_leaves_some_to_others() {
        let heavy = HeavyWork::new();
        // All that is let in is busy until everybody has come.
        let (gate, closed) = mpsc::channel::<()>();
        let closed = Arc::new(Mutex::new(closed));
        let work = |number| {
            let closed = Arc::clone(&closed);
            move || {
                _ = closed.lock().unwrap().recv();
                number
            }
        };
        let of_ada = join_all((0..MAX_OF_EACH + 1).map(|number| heavy.run("ada", work(number))));
        let (of_ada, of_bob, ()) = tokio::join!(of_ada, heavy.run("bob", work(7)), async { drop(gate) });
        let refused = of_ada.into_iter().filter_map(Result::err).map(|problem| problem.code()).collect::<Vec<_>>();
        assert_eq!((refused, of_bob.unwrap()), (vec![ProblemCode::Overloaded], 7));
        assert_eq!(heavy.run("ada", || 8).await.unwrap(), 8);
    }
}
