//! Lines: each caller has so much under way at the same time, a little more waits for its turn, and the rest is refused at once. Counted in
//! memory by each instance.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::kernel::limit_key::{LimitKey, places_of_larger};

/// How long somebody waits in a line.
const PATIENCE: Duration = Duration::from_secs(3);

/// A line for each caller, identified by `K`, and one for the larger network of a client. Only callers who have something under way are
/// remembered. Clones share the lines.
#[derive(Debug)]
pub struct Lines<K: Hash + Eq>(Arc<Shared<K>>);

#[derive(Debug)]
struct Shared<K> {
    at_once: usize,
    waiting: usize,
    lines: Mutex<HashMap<K, Line>>,
}

#[derive(Debug)]
struct Line {
    turns: Arc<Semaphore>,
    /// What is under way and what waits.
    length: usize,
}

/// Something that is under way, until this is dropped.
#[derive(Debug)]
pub struct Turn<K: Hash + Eq> {
    _own: TurnInLine<K>,
    _of_larger: Option<TurnInLine<K>>,
}

/// A turn in one line.
#[derive(Debug)]
struct TurnInLine<K: Hash + Eq> {
    /// Dropped first, so that the next one in the line gets its turn.
    _permit: OwnedSemaphorePermit,
    _place: Place<K>,
}

/// A place in a line.
#[derive(Debug)]
struct Place<K: Hash + Eq> {
    shared: Arc<Shared<K>>,
    caller: K,
}

/// The line of the caller is full, or its turn did not come soon enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineFull;

impl<K: Hash + Eq> Clone for Lines<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K: LimitKey + Copy> Lines<K> {
    /// Lines in which `at_once` are under way and `waiting` wait.
    pub fn new(at_once: usize, waiting: usize) -> Self {
        Self(Arc::new(Shared { at_once, waiting, lines: Mutex::default() }))
    }

    /// Waits for a turn of `caller`. The turns of one caller are taken in the order in which they were asked for.
    pub async fn turn(&self, caller: K) -> Result<Turn<K>, LineFull> {
        let Shared { at_once, waiting, .. } = *self.0;
        let own = self.turn_in_line(caller, (at_once, waiting)).await?;
        let of_larger = match caller.larger() {
            Some(larger) => {
                let [at_once, waiting] = [at_once, waiting].map(|places| places_of_larger(places, usize::MAX));
                Some(self.turn_in_line(larger, (at_once, waiting)).await?)
            }
            None => None,
        };
        Ok(Turn { _own: own, _of_larger: of_larger })
    }

    async fn turn_in_line(&self, caller: K, length: (usize, usize)) -> Result<TurnInLine<K>, LineFull> {
        let (turns, place) = self.enter(caller, length)?;
        let permit = match Arc::clone(&turns).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => timeout(PATIENCE, turns.acquire_owned()).await.map_err(|_| LineFull)?.map_err(|_| LineFull)?,
        };
        Ok(TurnInLine { _permit: permit, _place: place })
    }

    fn enter(&self, caller: K, (at_once, waiting): (usize, usize)) -> Result<(Arc<Semaphore>, Place<K>), LineFull> {
        let mut lines = self.0.lock();
        let line = lines.entry(caller).or_insert_with(|| Line { turns: Arc::new(Semaphore::new(at_once)), length: 0 });
        if line.length >= at_once + waiting {
            return Err(LineFull);
        }
        line.length += 1;
        Ok((Arc::clone(&line.turns), Place { shared: Arc::clone(&self.0), caller }))
    }
}

impl<K> Shared<K> {
    fn lock(&self) -> MutexGuard<'_, HashMap<K, Line>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Hash + Eq> Drop for Place<K> {
    fn drop(&mut self) {
        let mut lines = self.shared.lock();
        if let Some(line) = lines.get_mut(&self.caller) {
            line.length -= 1;
            if line.length == 0 {
                lines.remove(&self.caller);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt, poll};
    use ipnet::IpNet;

    use super::*;

    #[tokio::test]
    async fn so_many_at_once_a_few_wait_and_others_are_not_in_the_way() {
        let lines = Lines::new(2, 1);
        let (first, _second) = (lines.turn("ada").await.unwrap(), lines.turn("ada").await.unwrap());
        let mut third = Box::pin(lines.turn("ada"));
        assert!(poll!(&mut third).is_pending());
        assert_eq!(lines.turn("ada").now_or_never().unwrap().unwrap_err(), LineFull);
        let _other = lines.turn("bob").await.unwrap();
        drop(first);
        drop(third.await.unwrap());
        assert_eq!(lines.0.lock()["ada"].length, 1);
        drop((_second, _other));
        assert!(lines.0.lock().is_empty(), "who has nothing under way is forgotten");
    }

    #[tokio::test]
    async fn the_networks_of_a_48_stand_in_one_line_as_well() {
        let lines = Lines::new(2, 0);
        let network = |number: u16| format!("2001:db8:1:{number:x}::/64").parse::<IpNet>().unwrap();
        let mut turns = Vec::new();
        for number in 0..40 {
            turns.extend(lines.turn(network(number)).await.ok());
        }
        assert_eq!(turns.len(), 32);
        drop(turns);
        assert!(lines.0.lock().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_longer_than_their_patience_or_after_they_have_gone() {
        let lines = Lines::new(1, 1);
        let _first = lines.turn("ada").await.unwrap();
        assert_eq!(lines.turn("ada").await.unwrap_err(), LineFull);
        {
            let mut gone = Box::pin(lines.turn("ada"));
            assert!(poll!(&mut gone).is_pending());
        }
        assert!(poll!(Box::pin(lines.turn("ada"))).is_pending(), "its place is free");
    }
}
