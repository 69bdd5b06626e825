//! How people see records: a line for each field of one, a row for each of several.

mod cell;
mod lines;
mod table;

pub(super) use lines::lines;
pub(super) use table::{columns, table};
