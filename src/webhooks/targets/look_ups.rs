//! Name look-ups, cached, shared and fair.
//!
//! A name that was found is kept for as long as its record says, at most a minute. Concurrent look-ups of a name share one question.
//! Each company has a number of questions under way, and the others of its names wait for these: whoever has many names on a name server
//! that never answers delays only themselves. A look-up takes at most five seconds, with the wait.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared, WeakShared};
use quick_cache::sync::Cache;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use crate::kernel::ids::CompanyId;
use crate::webhooks::targets::nameservers::{Answered, Nameservers};

/// The limit of one look-up, with the wait for others.
const TIME_LIMIT: Duration = Duration::from_secs(5);
/// The number of names of one company that are asked about at a time.
const PER_COMPANY: usize = 16;
/// The same of all companies together. Each question is an open socket.
const IN_ALL: usize = 512;
/// The number of names that are kept. Each takes about a hundred bytes.
const MAX_KEPT: usize = 10_000;
/// The longest time that a name is kept: whoever moves an endpoint need not wait longer.
const LONGEST: Duration = Duration::from_secs(60);

/// The look-ups of a process. Clones share them.
#[derive(Clone, Debug)]
pub struct LookUps(Arc<State>);

#[derive(Debug)]
struct State {
    nameservers: Arc<Nameservers>,
    kept: Cache<String, Kept>,
    /// The look-ups under way. One that nobody waits for any more ends.
    by_name: Mutex<HashMap<String, WeakShared<Question>>>,
    /// The companies with look-ups under way; without one, those of no company.
    by_company: Mutex<HashMap<Option<CompanyId>, Weak<Semaphore>>>,
    places: Arc<Semaphore>,
}

#[derive(Clone, Debug)]
struct Kept {
    addresses: Vec<IpAddr>,
    until: Instant,
}

type Question = BoxFuture<'static, Result<Vec<IpAddr>, Arc<io::Error>>>;

impl LookUps {
    pub fn new(nameservers: Nameservers) -> Self {
        Self(Arc::new(State {
            nameservers: Arc::new(nameservers),
            kept: Cache::new(MAX_KEPT),
            by_name: Mutex::default(),
            by_company: Mutex::default(),
            places: Arc::new(Semaphore::new(IN_ALL)),
        }))
    }

    /// The addresses of a name, asked by a company. A look-up that takes too long gets [`io::ErrorKind::TimedOut`].
    pub async fn look_up(&self, company: Option<CompanyId>, name: &str) -> io::Result<Vec<IpAddr>> {
        if let Some(kept) = self.0.kept.get(name).filter(|kept| Instant::now() < kept.until) {
            return Ok(kept.addresses);
        }
        let asking = async {
            let question = match self.under_way(name) {
                Some(question) => question,
                None => self.ask(name, self.place(company).await?),
            };
            question.await.map_err(|error| io::Error::new(error.kind(), error))
        };
        timeout(TIME_LIMIT, asking).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }

    fn under_way(&self, name: &str) -> Option<Shared<Question>> {
        self.by_name().get(name)?.upgrade()
    }

    /// A place among the questions under way: first among those of the company, so that nobody waits behind the names of another one.
    async fn place(&self, company: Option<CompanyId>) -> io::Result<[OwnedSemaphorePermit; 2]> {
        let own = self.of_company(company).acquire_owned().await.map_err(io::Error::other)?;
        let place = Arc::clone(&self.0.places).acquire_owned().await.map_err(io::Error::other)?;
        Ok([own, place])
    }

    fn of_company(&self, company: Option<CompanyId>) -> Arc<Semaphore> {
        let mut by_company = self.0.by_company.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(places) = by_company.get(&company).and_then(Weak::upgrade) {
            return places;
        }
        by_company.retain(|_, places| places.strong_count() > 0);
        let places = Arc::new(Semaphore::new(PER_COMPANY));
        by_company.insert(company, Arc::downgrade(&places));
        places
    }

    /// Asks, unless somebody else has begun to while this caller waited for a place.
    fn ask(&self, name: &str, place: [OwnedSemaphorePermit; 2]) -> Shared<Question> {
        let mut by_name = self.by_name();
        if let Some(question) = by_name.get(name).and_then(WeakShared::upgrade) {
            return question;
        }
        by_name.retain(|_, question| question.upgrade().is_some());
        let (state, name) = (Arc::clone(&self.0), name.to_owned());
        let key = name.clone();
        let question = async move {
            let answered = state.nameservers.ask(&name).await.map_err(Arc::new);
            drop(place);
            let answered = answered?;
            state.keep(name, &answered);
            Ok(answered.addresses)
        };
        let question = question.boxed().shared();
        by_name.extend(question.downgrade().map(|question| (key, question)));
        question
    }

    fn by_name(&self) -> MutexGuard<'_, HashMap<String, WeakShared<Question>>> {
        self.0.by_name.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn keep(&self, name: String, Answered { addresses, valid_for }: &Answered) {
        if !valid_for.is_zero() {
            self.kept.insert(name, Kept { addresses: addresses.clone(), until: Instant::now() + (*valid_for).min(LONGEST) });
        }
    }
}
