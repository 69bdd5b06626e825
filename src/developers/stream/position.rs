//! The position of a stream.

/// The position after an event; all later events follow it. The default is the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Position {
    /// The transaction that published the event.
    pub(super) transaction: i64,
    /// The event's place within that transaction.
    pub(super) place: i64,
}
