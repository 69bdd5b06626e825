//! Name look-ups by a blocking resolver, which occupies a thread until it returns, even if the caller has given up.
//!
//! All look-ups together use fewer threads than the runtime has for blocking work: while the resolver hangs, endpoints may wait for one
//! another, but nothing else waits for them. A name is looked up by one thread at a time; further callers share its result.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;

/// The maximum number of concurrent look-ups: a quarter of tokio's threads for blocking work.
const MAX_LOOK_UPS: usize = 128;

/// Resolves a name and blocks until the result is there.
pub type BlockingResolver = fn(&str) -> io::Result<Vec<IpAddr>>;

type LookUpResult = Shared<BoxFuture<'static, Result<Vec<IpAddr>, Arc<io::Error>>>>;

/// The running look-ups. Clones share them.
#[derive(Clone, Debug)]
pub struct LookUps {
    resolver: BlockingResolver,
    permits: Arc<Semaphore>,
    by_name: Arc<Mutex<HashMap<String, LookUp>>>,
}

#[derive(Debug)]
struct LookUp {
    result: LookUpResult,
    /// Held by the thread until the look-up has ended, even if no caller waits for it any more.
    permit: Weak<OwnedSemaphorePermit>,
}

impl LookUp {
    fn is_running(&self) -> bool {
        self.permit.strong_count() > 0
    }
}

impl LookUps {
    pub(super) fn new(resolver: BlockingResolver) -> Self {
        Self { resolver, permits: Arc::new(Semaphore::new(MAX_LOOK_UPS)), by_name: Arc::default() }
    }

    pub(super) async fn look_up(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let running = self.by_name().get(name).filter(|look_up| look_up.is_running()).map(|look_up| look_up.result.clone());
        let result = match running {
            Some(result) => result,
            None => self.start(name, Arc::clone(&self.permits).acquire_owned().await.map_err(io::Error::other)?),
        };
        result.await.map_err(|error| io::Error::new(error.kind(), error))
    }

    /// Starts a look-up, unless another caller has started it in the meantime.
    fn start(&self, name: &str, permit: OwnedSemaphorePermit) -> LookUpResult {
        let mut by_name = self.by_name();
        by_name.retain(|_, look_up| look_up.is_running());
        if let Some(look_up) = by_name.get(name) {
            return look_up.result.clone();
        }
        let (resolver, owned_name, permit) = (self.resolver, name.to_owned(), Arc::new(permit));
        let weak_permit = Arc::downgrade(&permit);
        let task = spawn_blocking(move || {
            let _permit = permit;
            resolver(&owned_name).map_err(Arc::new)
        });
        let result = async move { task.await.unwrap_or_else(|stopped| Err(Arc::new(stopped.into()))) }.boxed().shared();
        by_name.insert(name.to_owned(), LookUp { result: result.clone(), permit: weak_permit });
        result
    }

    fn by_name(&self) -> MutexGuard<'_, HashMap<String, LookUp>> {
        self.by_name.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
