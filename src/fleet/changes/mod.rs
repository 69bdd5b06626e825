//! What follows from a change of a record that others reference: its events, changes of other records, and what prevents a deletion.
//! It stands above all kinds, because such a change concerns records that reference the changed one.

mod driver;
mod fleet;
mod order;
mod vehicle;
