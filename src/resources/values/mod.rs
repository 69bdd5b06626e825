//! The value types of request body fields. Each is parsed when the request is read, so that holding one proves that it is valid.

mod addresses;
mod contacts;
mod instants;
mod links;
mod metas;
mod numbers;
mod overlap;
mod parsed;
mod references;
mod texts;
mod words;

pub use addresses::{NotAWebAddress, WebAddress};
pub use instants::{Instant, NotAnInstant};
pub use links::{Link, no_such};
pub use metas::Meta;
pub use numbers::{NotWhole, OutOfRange, Whole, Within};
pub use overlap::{NotAnOverlap, Overlap};
pub use parsed::Parsed;
pub use references::Reference;
pub use texts::{Line, NotAText, Text};
pub use words::{NotAWord, Words};
