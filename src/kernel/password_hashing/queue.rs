//! The queue of the hashing threads: those who ask take turns, so that one client's flood waits behind itself and not before others.
//!
//! The groups (the stores) take turns, and in the turn of a group the networks of its clients. A group's turn is as long as it has networks
//! waiting, but at most [`LONGEST_TURN`] passwords: many addresses that flood one store leave the other stores their share.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use ipnet::IpNet;
use uuid::Uuid;

use crate::kernel::limit_key::LimitKey;

/// The passwords that are taken from one group before it is another one's turn.
const LONGEST_TURN: usize = 8;

/// For whom a password is hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Asker {
    /// Whose customers, such as the id of the store. Nil: the operators.
    pub group: Uuid,
    /// The network of the client.
    pub network: IpNet,
}

impl LimitKey for Asker {
    fn larger(&self) -> Option<Self> {
        Some(Self { network: self.network.larger()?, ..*self })
    }
}

/// The jobs that wait. The threads take them until it is closed.
pub(super) struct Queue<J> {
    state: Mutex<State<J>>,
    changed: Condvar,
}

struct State<J> {
    turns: Turns<J>,
    closed: bool,
}

impl<J> Default for Queue<J> {
    fn default() -> Self {
        Self { state: Mutex::new(State { turns: Turns::default(), closed: false }), changed: Condvar::new() }
    }
}

impl<J> std::fmt::Debug for Queue<J> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Queue(…)")
    }
}

impl<J> Queue<J> {
    pub(super) fn push(&self, asker: Asker, job: J) {
        self.lock().turns.push(asker, job);
        self.changed.notify_one();
    }

    /// Waits for the next job. `None` once the queue is closed and empty.
    pub(super) fn next(&self) -> Option<J> {
        let mut state = self.lock();
        loop {
            match state.turns.next() {
                Some(job) => return Some(job),
                None if state.closed => return None,
                None => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who waits, in the order of their turns. Nobody stands in it without a job, and it is never longer than there are places.
struct Turns<J> {
    groups: VecDeque<Group<J>>,
}

struct Group<J> {
    id: Uuid,
    networks: VecDeque<(IpNet, VecDeque<J>)>,
    /// The jobs that were taken in this turn.
    taken: usize,
    /// The jobs that this turn has at most: one for each client that waited when it began.
    turn: usize,
}

impl<J> Default for Turns<J> {
    fn default() -> Self {
        Self { groups: VecDeque::new() }
    }
}

impl<J> Turns<J> {
    fn push(&mut self, Asker { group, network }: Asker, job: J) {
        match self.groups.iter_mut().find(|waiting| waiting.id == group) {
            Some(waiting) => match waiting.networks.iter_mut().find(|(other, _)| *other == network) {
                Some((_, jobs)) => jobs.push_back(job),
                None => waiting.networks.push_back((network, [job].into())),
            },
            None => self.groups.push_back(Group { id: group, networks: [(network, [job].into())].into(), taken: 0, turn: 0 }),
        }
    }

    fn next(&mut self) -> Option<J> {
        let group = self.groups.front_mut()?;
        if group.taken == 0 {
            group.turn = group.networks.len().min(LONGEST_TURN);
        }
        let (network, mut jobs) = group.networks.pop_front()?;
        let job = jobs.pop_front();
        if !jobs.is_empty() {
            group.networks.push_back((network, jobs));
        }
        group.taken += 1;
        if group.networks.is_empty() {
            self.groups.pop_front();
        } else if group.taken >= group.turn {
            group.taken = 0;
            self.groups.rotate_left(1);
        }
        job
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asker(group: u128, network: u8) -> Asker {
        Asker { group: Uuid::from_u128(group), network: IpNet::new([9, 9, 9, network].into(), 32).unwrap() }
    }

    fn order(waiting: &[(u128, u8, usize)]) -> Vec<(u128, u8)> {
        let mut turns = Turns::default();
        for (group, network, jobs) in waiting {
            (0..*jobs).for_each(|_| turns.push(asker(*group, *network), (*group, *network)));
        }
        std::iter::from_fn(|| turns.next()).collect()
    }

    #[test]
    fn a_flood_of_one_address_waits_behind_the_others() {
        let order = order(&[(1, 1, 60), (1, 2, 2), (1, 3, 1)]);
        assert_eq!(order.len(), 63);
        assert_eq!(order[..5], [(1, 1), (1, 2), (1, 3), (1, 1), (1, 2)]);
    }

    #[test]
    fn a_store_with_more_clients_has_longer_turns_up_to_eight() {
        let flooded: Vec<_> = (0..40).map(|network| (1, network, 2)).chain([(2, 1, 5)]).collect();
        let order = order(&flooded);
        let of_the_other: Vec<_> = order.iter().enumerate().filter(|(_, (group, _))| *group == 2).map(|(place, _)| place).collect();
        assert_eq!(of_the_other, [8, 17, 26, 35, 44]);
        let calm = super::tests::order(&[(1, 1, 9), (2, 1, 1), (2, 2, 1), (2, 3, 1)]);
        assert_eq!(calm[..5], [(1, 1), (2, 1), (2, 2), (2, 3), (1, 1)]);
    }

    #[test]
    fn the_threads_take_what_waits_and_end_when_it_is_closed() {
        let queue = Queue::default();
        queue.push(asker(1, 1), "last");
        queue.close();
        assert_eq!((queue.next(), queue.next()), (Some("last"), None));
    }
}
