//! Look-ups by a resolver that blocks a thread for as long as it likes, however soon whoever asked it gives up.
//!
//! All of them together have fewer threads than the runtime has for work of this kind: while a resolver is away, endpoints may wait for one
//! another, but nobody else waits for them. And one name has one thread: who asks for what is being looked up waits for that look-up.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;

/// Names that are looked up at once: a quarter of the threads that tokio has for whatever blocks.
const AT_ONCE: usize = 128;

/// Asks for the addresses of a name, and waits for the answer.
pub type Resolver = fn(&str) -> io::Result<Vec<IpAddr>>;

type Answer = Shared<BoxFuture<'static, Result<Vec<IpAddr>, Arc<io::Error>>>>;

/// The look-ups that are under way; clones share them.
#[derive(Clone, Debug)]
pub struct LookUps {
    resolver: Resolver,
    room: Arc<Semaphore>,
    by_name: Arc<Mutex<HashMap<String, LookUp>>>,
}

#[derive(Debug)]
struct LookUp {
    answer: Answer,
    /// Its thread has it until it has ended, even if nobody waits for it any more.
    room: Weak<OwnedSemaphorePermit>,
}

impl LookUp {
    fn is_under_way(&self) -> bool {
        self.room.strong_count() > 0
    }
}

impl LookUps {
    pub(super) fn by(resolver: Resolver) -> Self {
        Self { resolver, room: Arc::new(Semaphore::new(AT_ONCE)), by_name: Arc::default() }
    }

    pub(super) async fn look_up(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let under_way = self.by_name().get(name).filter(|look_up| look_up.is_under_way()).map(|look_up| look_up.answer.clone());
        let answer = match under_way {
            Some(answer) => answer,
            None => self.begin(name, Arc::clone(&self.room).acquire_owned().await.map_err(io::Error::other)?),
        };
        answer.await.map_err(|error| io::Error::new(error.kind(), error))
    }

    /// Begins a look-up, unless somebody has meanwhile.
    fn begin(&self, name: &str, room: OwnedSemaphorePermit) -> Answer {
        let mut by_name = self.by_name();
        by_name.retain(|_, look_up| look_up.is_under_way());
        if let Some(look_up) = by_name.get(name) {
            return look_up.answer.clone();
        }
        let (resolver, asked, room) = (self.resolver, name.to_owned(), Arc::new(room));
        let held = Arc::downgrade(&room);
        let looking = spawn_blocking(move || {
            let _room = room;
            resolver(&asked).map_err(Arc::new)
        });
        let answer = async move { looking.await.unwrap_or_else(|stopped| Err(Arc::new(stopped.into()))) }.boxed().shared();
        by_name.insert(name.to_owned(), LookUp { answer: answer.clone(), room: held });
        answer
    }

    fn by_name(&self) -> MutexGuard<'_, HashMap<String, LookUp>> {
        self.by_name.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
