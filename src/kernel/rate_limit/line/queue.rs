//! One line: its turns, the members who share them, and those who wait.

use std::collections::VecDeque;

/// A line of members `M`. Those who wait are called by a `C`.
#[derive(Debug)]
pub(super) struct Line<M, C> {
    /// The number of turns that nobody has.
    free: usize,
    members: Vec<Member<M>>,
    waiting: VecDeque<Waiter<M, C>>,
    /// The number of the next one who waits.
    next: u64,
}

/// A member with something in the line.
#[derive(Debug)]
struct Member<M> {
    name: M,
    under_way: usize,
    waiting: usize,
}

/// Somebody who waits.
#[derive(Debug)]
pub(super) struct Waiter<M, C> {
    number: u64,
    pub(super) member: M,
    pub(super) called: C,
}

impl<M: Clone + Eq, C> Line<M, C> {
    pub(super) fn new(at_once: usize) -> Self {
        Self { free: at_once, members: Vec::new(), waiting: VecDeque::new(), next: 0 }
    }

    /// The number of turns that nobody has.
    pub(super) fn free(&self) -> usize {
        self.free
    }

    /// How many wait, of all members.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Whether nobody has a turn or waits.
    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// What the member has under way, and what waits.
    pub(super) fn of(&self, member: &M) -> (usize, usize) {
        self.members.iter().find(|other| other.name == *member).map_or((0, 0), |found| (found.under_way, found.waiting))
    }

    /// A turn of the member begins.
    pub(super) fn begin(&mut self, member: &M) {
        self.free -= 1;
        self.change(member, |member| member.under_way += 1);
    }

    /// A turn of the member ends.
    pub(super) fn end(&mut self, member: &M) {
        self.free += 1;
        self.change(member, |member| member.under_way -= 1);
    }

    /// The member waits. Returns the number of the waiter.
    pub(super) fn wait(&mut self, member: M, called: C) -> u64 {
        self.change(&member, |member| member.waiting += 1);
        let number = self.next;
        self.next += 1;
        self.waiting.push_back(Waiter { number, member, called });
        number
    }

    /// Begins the turn of the first waiter who may have it: `has_room` gets what the member has under way, and how many turns are free.
    pub(super) fn take_next(&mut self, has_room: impl Fn(usize, usize) -> bool) -> Option<Waiter<M, C>> {
        let index = self.waiting.iter().position(|waiter| has_room(self.of(&waiter.member).0, self.free))?;
        let waiter = self.remove(index)?;
        self.begin(&waiter.member);
        Some(waiter)
    }

    /// The waiter with this number waits no more, if it still does.
    pub(super) fn leave(&mut self, number: u64) {
        if let Some(index) = self.waiting.iter().position(|waiter| waiter.number == number) {
            drop(self.remove(index));
        }
    }

    fn remove(&mut self, index: usize) -> Option<Waiter<M, C>> {
        let waiter = self.waiting.remove(index)?;
        self.change(&waiter.member, |member| member.waiting -= 1);
        Some(waiter)
    }

    fn change(&mut self, member: &M, change: impl FnOnce(&mut Member<M>)) {
        let index = self.members.iter().position(|other| other.name == *member).unwrap_or_else(|| {
            self.members.push(Member { name: member.clone(), under_way: 0, waiting: 0 });
            self.members.len() - 1
        });
        change(&mut self.members[index]);
        if self.members[index].under_way + self.members[index].waiting == 0 {
            self.members.swap_remove(index);
        }
    }
}
