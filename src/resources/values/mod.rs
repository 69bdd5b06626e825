//! The value types of request body fields. Each is parsed when the request is read, so that holding one proves that it is valid.

mod addresses;
mod contacts;
mod grace_periods;
mod instants;
mod logged;
mod metas;
mod networks;
mod numbers;
mod owners;
mod references;
mod requests;
mod text_enums;
mod texts;

pub use addresses::{InvalidWebAddress, WebAddress};
pub use grace_periods::{GracePeriod, InvalidGracePeriod};
pub use instants::{Instant, InvalidInstant};
pub use logged::{InvalidLoggedWord, LoggedEventName, LoggedRequestId, LoggedWord};
pub use metas::Meta;
pub use numbers::{Count, IntegerIn, IntegerOutOfRange, NumberIn, NumberOutOfRange};
pub use references::{Reference, no_such};
pub use text_enums::{InvalidVariant, TextEnum, Word};
pub use texts::{InvalidText, Line, Text};
