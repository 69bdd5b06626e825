//! The kinds of values that members of bodies have: each read at the edge, so that holding one is the proof that it is good.

mod instants;
mod numbers;
mod overlap;
mod references;
mod texts;

use serde_json::{Map, Value};

pub use instants::{Instant, NotAnInstant};
pub use numbers::{OutOfRange, Within};
pub use overlap::{NotAnOverlap, Overlap};
pub use references::Reference;
pub use texts::{Line, NotAText, Text};

/// Facts the shop keeps with a record and that mean nothing to us.
pub type Meta = sqlx::types::Json<Map<String, Value>>;
