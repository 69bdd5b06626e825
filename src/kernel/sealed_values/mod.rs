//! Values that are sealed under the application key: where they are, which key each is sealed under, and how they come under another one.
//!
//! Whoever stores such values declares their [`SealedColumn`]s beside the code that seals them; `app::sealed_columns` lists them all, and a
//! test compares that list with the schema.
//!
//! # Destinations
//!
//! A caller who may change an address need not know the secret that is sent there. So a secret that is sent to an address of its row is sealed for
//! the row and that address ([`SentTo::Named`]): nothing opens it for another one, and a change of the address has to bring the secret along.
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

use serde_json::{Map, Value};
use uuid::Uuid;

use crate::kernel::crypto::Destination;

pub use census::{Census, count};
pub use resealing::{Batch, Resealing};

/// What a change is answered, beside the field of the secret, if the stored one does not open for the address that there is now.
pub const SEND_AGAIN: &str = "Send the value again: the stored one is for another address, or cannot be decrypted.";

/// Stands for a value that is not shown.
pub const MASK: &str = "********";

/// Whether a text is no secret but a mask, which somebody has copied in its place.
pub fn is_mask(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte == b'*')
}

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
    /// Where they are sent.
    pub sent_to: SentTo,
}

/// How a row is named in the context that its value is sealed with.
#[derive(Clone, Copy, Debug)]
pub enum Context {
    /// By its id.
    OfId(fn(Uuid) -> String),
    /// By the digest in this column.
    OfDigest(&'static str, fn(&[u8]) -> String),
}

/// Where the values of a column are sent in clear.
#[derive(Clone, Copy, Debug)]
pub enum SentTo {
    /// Nowhere. They sign, prove who somebody is, or are shown to their owner.
    Nobody,
    /// To a service whose address the settings of the deployment say. No record changes it.
    Configured,
    /// To the address that the row names in these columns, which is a part of what each value is sealed for. `None`: the columns cannot be read, and
    /// the value opens for nobody.
    Named(&'static [&'static str], fn(&Map<String, Value>) -> Option<Destination>),
}
