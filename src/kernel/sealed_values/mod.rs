//! Values that are sealed under the application key: where they are, which key each is sealed under, and how they come under another one.
//!
//! Whoever stores such values declares their [`SealedColumn`]s beside the code that seals them; `app::sealed_columns` lists them all, and a
//! test compares that list with the schema.
//!
//! # Rooms
//!
//! From top to bottom; a room uses only rooms below it.
//!
//! ```text
//! resealing  census     seals a column again; counts what is sealed under which key
//! walk                  the values of a column, batch by batch
//! queries               the SQL, for any column
//! ```

mod census;
mod queries;
mod resealing;
mod walk;

use uuid::Uuid;

pub use census::{Census, count};
pub use resealing::{Batch, Resealing};

/// A column whose values are sealed, each for its own row. Null stands for no value.
#[derive(Clone, Copy, Debug)]
pub struct SealedColumn {
    /// The table, whose primary key is `id`.
    pub table: &'static str,
    /// The column.
    pub column: &'static str,
    /// What the values are, in the words of operators: "signing secrets of webhooks".
    pub content: &'static str,
    /// What they are sealed for.
    pub context: Context,
}

/// How a row is named in the context that its value is sealed with.
#[derive(Clone, Copy, Debug)]
pub enum Context {
    /// By its id.
    OfId(fn(Uuid) -> String),
    /// By the digest in this column.
    OfDigest(&'static str, fn(&[u8]) -> String),
}
