//! The position of a stream.

use crate::developers::stream::earlier::EarlierPosition;

/// Where the next page of a stream begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// Behind the event with this number in the feed of the company. 0 is the beginning.
    Behind(i64),
    /// Behind an event from before there were numbers. All of them precede those with numbers.
    Earlier(EarlierPosition),
}
