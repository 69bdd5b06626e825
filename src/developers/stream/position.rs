//! How far a stream has come.

/// Behind this event; whatever comes later stands behind it. The default is the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Position {
    /// The transaction that published it.
    pub(super) transaction: i64,
    /// Its place among the events of that transaction.
    pub(super) place: i64,
}
