//! Lines: each caller has so much under way at the same time, a little more waits for its turn, and the rest is refused at once. Counted in
//! memory by each instance.
//!
//! A line may be that of a group, such as a company, whose members share it: one member alone gets about four fifths of the turns and of the
//! places to wait, several get less each, and the last one is for a member that has none. Of those who wait, the first one gets the next turn
//! whose share allows it. Network switches share their buffers in this way.
//!
//! A client stands in two lines, one after the other: its own, and then the longer one of its larger network
//! ([`limit_key`](crate::kernel::limit_key)). Its turn is one in both.

mod queue;

use std::collections::HashMap;
use std::iter;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::kernel::limit_key::{LimitKey, places_of_larger};
use crate::kernel::rate_limit::line::queue::{Line, Waiter};

/// How long somebody waits in a line.
const PATIENCE: Duration = Duration::from_secs(3);
/// How many times as much as what is free, but for the last place, one member may have.
const SHARE: usize = 4;

/// A line for each caller, identified by `K`, that its members `M` share, and one for the larger network of a client. Only callers who have
/// something under way are remembered. Clones share the lines.
#[derive(Debug)]
pub struct Lines<K: LimitKey + Copy, M: Clone + Eq = ()>(Arc<Shared<K, M>>);

#[derive(Debug)]
struct Shared<K: LimitKey + Copy, M: Clone + Eq> {
    of_caller: Length,
    of_larger: Length,
    /// Whether one member leaves room to the others.
    is_shared: bool,
    lines: Mutex<HashMap<K, LineOf<K, M>>>,
}

/// A line in which a waiter is called by being given the turn.
type LineOf<K, M> = Line<M, oneshot::Sender<TurnInLine<K, M>>>;

/// How many stand in a line.
#[derive(Clone, Copy, Debug)]
struct Length {
    at_once: usize,
    waiting: usize,
}

/// Something that is under way, until this is dropped.
#[derive(Debug)]
pub struct Turn<K: LimitKey + Copy, M: Clone + Eq = ()> {
    _own: TurnInLine<K, M>,
    _of_larger: Option<TurnInLine<K, M>>,
}

/// A turn in one line, until this is dropped.
#[derive(Debug)]
struct TurnInLine<K: LimitKey + Copy, M: Clone + Eq> {
    shared: Arc<Shared<K, M>>,
    caller: K,
    member: M,
}

/// Somebody in the lines.
#[derive(Debug)]
pub enum Entered<K: LimitKey + Copy, M: Clone + Eq = ()> {
    /// It is their turn.
    Turn(Turn<K, M>),
    /// Their turn comes later.
    Waiting(Waiting<K, M>),
}

/// Somebody who waits in one of the lines, until this is dropped.
#[derive(Debug)]
pub struct Waiting<K: LimitKey + Copy, M: Clone + Eq = ()> {
    place: Place<K, M>,
    /// Their turn in their own line, if the place is in that of the larger network.
    own: Option<TurnInLine<K, M>>,
}

/// Somebody in one line.
enum InLine<K: LimitKey + Copy, M: Clone + Eq> {
    Turn(TurnInLine<K, M>),
    Place(Place<K, M>),
}

/// A place to wait in one line, until this is dropped.
#[derive(Debug)]
struct Place<K: LimitKey + Copy, M: Clone + Eq> {
    shared: Arc<Shared<K, M>>,
    caller: K,
    number: u64,
    turn: oneshot::Receiver<TurnInLine<K, M>>,
}

/// The line of the caller is full, or its turn did not come soon enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the line is full")]
pub struct LineFull;

impl<K: LimitKey + Copy, M: Clone + Eq> Clone for Lines<K, M> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K: LimitKey + Copy> Lines<K> {
    /// Lines in which `at_once` are under way and `waiting` wait.
    pub fn new(at_once: usize, waiting: usize) -> Self {
        Self(Shared::new(Length { at_once, waiting }, false))
    }

    /// Waits for a turn of `caller`. The turns of one caller are taken in the order in which they were asked for.
    pub async fn turn(&self, caller: K) -> Result<Turn<K>, LineFull> {
        match self.enter(caller, ())? {
            Entered::Turn(turn) => Ok(turn),
            Entered::Waiting(waiting) => waiting.turn().await,
        }
    }
}

impl<K: LimitKey + Copy, M: Clone + Eq> Lines<K, M> {
    /// Lines in which `at_once` are under way and `waiting` wait, and in which each member leaves room to the others.
    pub fn shared(at_once: usize, waiting: usize) -> Self {
        Self(Shared::new(Length { at_once, waiting }, true))
    }

    /// Takes a turn in the lines of `caller`, or a place in the first one that has none now.
    pub fn enter(&self, caller: K, member: M) -> Result<Entered<K, M>, LineFull> {
        match self.0.enter(caller, member, self.0.of_caller)? {
            InLine::Turn(own) => own.go_on(),
            InLine::Place(place) => Ok(Entered::Waiting(Waiting { place, own: None })),
        }
    }
}

impl<K: LimitKey + Copy, M: Clone + Eq> TurnInLine<K, M> {
    /// Goes on from the caller's own line to that of its larger network, if there is one.
    fn go_on(self) -> Result<Entered<K, M>, LineFull> {
        let Some(larger) = self.caller.larger() else { return Ok(Entered::Turn(Turn { _own: self, _of_larger: None })) };
        Ok(match self.shared.enter(larger, self.member.clone(), self.shared.of_larger)? {
            InLine::Turn(of_larger) => Entered::Turn(Turn { _own: self, _of_larger: Some(of_larger) }),
            InLine::Place(place) => Entered::Waiting(Waiting { place, own: Some(self) }),
        })
    }
}

impl<K: LimitKey + Copy, M: Clone + Eq> Waiting<K, M> {
    /// Waits for the turn.
    pub async fn turn(self) -> Result<Turn<K, M>, LineFull> {
        let mut waiting = self;
        loop {
            let Self { place, own } = waiting;
            let called = place.turn().await?;
            if let Some(own) = own {
                return Ok(Turn { _own: own, _of_larger: Some(called) });
            }
            match called.go_on()? {
                Entered::Turn(turn) => return Ok(turn),
                Entered::Waiting(behind) => waiting = behind,
            }
        }
    }
}

impl<K: LimitKey + Copy, M: Clone + Eq> Place<K, M> {
    async fn turn(mut self) -> Result<TurnInLine<K, M>, LineFull> {
        timeout(PATIENCE, &mut self.turn).await.map_err(|_| LineFull)?.map_err(|_| LineFull)
    }
}

impl<K: LimitKey + Copy, M: Clone + Eq> Shared<K, M> {
    fn new(of_caller: Length, is_shared: bool) -> Arc<Self> {
        let [at_once, waiting] = [of_caller.at_once, of_caller.waiting].map(|places| places_of_larger(places, usize::MAX));
        let of_larger = Length { at_once, waiting };
        Arc::new(Self { of_caller, of_larger, is_shared, lines: Mutex::default() })
    }

    /// Takes a turn in the line of `caller`, which is so long, or a place in it.
    fn enter(self: &Arc<Self>, caller: K, member: M, length: Length) -> Result<InLine<K, M>, LineFull> {
        let mut lines = self.lock();
        // A line that is new has a turn for everybody, so none stays behind empty.
        let line = lines.entry(caller).or_insert_with(|| Line::new(length.at_once));
        let (under_way, waiting) = line.of(&member);
        if self.has_room(under_way, line.free()) {
            line.begin(&member);
            return Ok(InLine::Turn(TurnInLine { shared: Arc::clone(self), caller, member }));
        }
        if !self.has_room(waiting, length.waiting.saturating_sub(line.waiting())) {
            return Err(LineFull);
        }
        let (called, turn) = oneshot::channel();
        let number = line.wait(member, called);
        Ok(InLine::Place(Place { shared: Arc::clone(self), caller, number, turn }))
    }

    /// Whether a member that holds so many may have one of those that are free.
    fn has_room(&self, held: usize, free: usize) -> bool {
        free > 0 && (held == 0 || !self.is_shared || held < SHARE.saturating_mul(free - 1))
    }

    /// Ends a turn, which the next one gets. The member that has ended one has more room than before, so one of its own may begin as well.
    fn end(self: &Arc<Self>, caller: K, member: &M) {
        let begun = {
            let mut lines = self.lock();
            let Some(line) = lines.get_mut(&caller) else { return };
            line.end(member);
            let begun: Vec<_> = iter::from_fn(|| line.take_next(|held, free| self.has_room(held, free))).collect();
            if line.is_empty() {
                lines.remove(&caller);
            }
            begun
        };
        for Waiter { member, called, .. } in begun {
            // A waiter who has gone meanwhile drops the turn, and the one behind gets it.
            drop(called.send(TurnInLine { shared: Arc::clone(self), caller, member }));
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, LineOf<K, M>>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: LimitKey + Copy, M: Clone + Eq> Drop for TurnInLine<K, M> {
    fn drop(&mut self) {
        self.shared.end(self.caller, &self.member);
    }
}

/// A turn that has come meanwhile is dropped afterwards, with the receiver.
impl<K: LimitKey + Copy, M: Clone + Eq> Drop for Place<K, M> {
    fn drop(&mut self) {
        let mut lines = self.shared.lock();
        let Some(line) = lines.get_mut(&self.caller) else { return };
        line.leave(self.number);
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
        assert_eq!(lines.0.lock()["ada"].of(&()), (1, 0));
        drop((_second, _other));
        assert!(lines.0.lock().is_empty(), "who has nothing under way is forgotten");
    }

    /// A network of one /48.
    fn network(number: u16) -> IpNet {
        format!("2001:db8:1:{number:x}::/64").parse().unwrap()
    }

    #[tokio::test]
    async fn the_networks_of_a_48_stand_in_one_line_as_well() {
        let lines = Lines::new(2, 0);
        let mut turns = Vec::new();
        for number in 0..40 {
            turns.extend(lines.turn(network(number)).await.ok());
        }
        assert_eq!(turns.len(), 32);
        drop(turns);
        assert!(lines.0.lock().is_empty());
    }

    #[tokio::test]
    async fn a_client_waits_in_both_lines_one_after_the_other() {
        let lines = Lines::new(1, 1);
        let mut turns = Vec::new();
        for number in 0..16 {
            turns.push(lines.turn(network(number)).await.unwrap());
        }
        let (mut first, mut second) = (Box::pin(lines.turn(network(16))), Box::pin(lines.turn(network(16))));
        assert!(poll!(&mut first).is_pending(), "its own line has a turn, and that of the /48 has none");
        assert!(poll!(&mut second).is_pending(), "the one before has the turn of its own line");
        turns.pop();
        drop(first.now_or_never().expect("the /48 has a turn again").unwrap());
        let second = second.now_or_never().expect("and its own line as well").unwrap();
        {
            let mut gone = Box::pin(lines.turn(network(17)));
            assert!(poll!(&mut gone).is_pending());
        }
        assert!(!lines.0.lock().contains_key(&network(17)), "who goes gives back what they have");
        drop((second, turns));
        assert!(lines.0.lock().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_longer_than_their_patience_or_after_they_have_gone() {
        let lines = Lines::new(1, 1);
        let first = lines.turn("ada").await.unwrap();
        assert_eq!(lines.turn("ada").await.unwrap_err(), LineFull);
        {
            let mut gone = Box::pin(lines.turn("ada"));
            assert!(poll!(&mut gone).is_pending());
        }
        let mut waiting = Box::pin(lines.turn("ada"));
        assert!(poll!(&mut waiting).is_pending(), "its place is free");
        drop((first, waiting));
        assert!(lines.0.lock().is_empty(), "a turn that came too late is given back");
    }

    /// The turns that a member gets at once.
    fn turns(lines: &Lines<&'static str, char>, member: char, tries: usize) -> Vec<Turn<&'static str, char>> {
        let entered = (0..tries).filter_map(|_| lines.enter("group", member).ok());
        entered.filter_map(|entered| if let Entered::Turn(turn) = entered { Some(turn) } else { None }).collect()
    }

    #[test]
    fn one_member_leaves_room_and_the_last_turn_is_for_one_that_has_none() {
        for (at_once, alone) in [(1, 1), (2, 1), (3, 2), (5, 4), (10, 8), (20, 16)] {
            assert_eq!(turns(&Lines::shared(at_once, 0), 'a', 50).len(), alone, "{at_once}");
        }
        let lines = Lines::shared(10, 0);
        let greedy = turns(&lines, 'a', 50);
        let others = ['b', 'c'].map(|member| turns(&lines, member, 50));
        assert_eq!(others.each_ref().map(Vec::len), [1, 1]);
        assert!(turns(&lines, 'd', 1).is_empty());
        drop((greedy, others));
        assert!(lines.0.lock().is_empty());
    }

    #[tokio::test]
    async fn of_those_who_wait_the_first_one_begins_whose_share_allows_it() {
        let lines = Lines::shared(10, 100);
        let wait = |member: char| match lines.enter("group", member).unwrap() {
            Entered::Waiting(waiting) => Box::pin(waiting.turn()),
            Entered::Turn(_) => panic!("{member} has a turn at once"),
        };
        let mut greedy: Vec<_> = (0..8).map(|_| lines.enter("group", 'a').unwrap()).collect();
        let mut others: Vec<_> = ['b', 'c'].into_iter().flat_map(|member| turns(&lines, member, 1)).collect();
        let (mut of_a, mut of_d) = (wait('a'), wait('d'));
        assert!(poll!(&mut of_a).is_pending() && poll!(&mut of_d).is_pending());
        greedy.pop();
        let of_d = of_d.now_or_never().expect("it has nothing under way").unwrap();
        assert!(poll!(&mut of_a).is_pending(), "it has enough");
        others.clear();
        drop(of_d);
        assert!(of_a.now_or_never().is_some());
        drop(greedy);
        assert!(lines.0.lock().is_empty());
    }

    #[tokio::test]
    async fn nobody_waits_whose_share_allows_a_turn_that_nobody_has() {
        let lines = Lines::shared(11, 100);
        let (held, mut others) = (turns(&lines, 'a', 5), turns(&lines, 'b', 4));
        assert_eq!((held.len(), others.len()), (5, 4));
        let wait = |member: char| match lines.enter("group", member).unwrap() {
            Entered::Waiting(waiting) => Box::pin(waiting.turn()),
            Entered::Turn(_) => panic!("{member} has a turn at once"),
        };
        let (mut of_a, mut of_b) = (wait('a'), wait('b'));
        assert!(poll!(&mut of_a).is_pending() && poll!(&mut of_b).is_pending());
        others.pop();
        // Its end makes room for the first one who waits, and for one of its own.
        let begun = [of_a, of_b].map(|waiting| waiting.now_or_never().expect("its turn has come").unwrap());
        drop((held, others, begun));
        assert!(lines.0.lock().is_empty());
    }
}
