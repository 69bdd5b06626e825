//! The values of ids and instants in the samples of events.

use uuid::{Uuid, uuid};

use crate::kernel::ids::TypedId;

/// The UUID of every record in samples.
pub const SAMPLE_UUID: Uuid = uuid!("01890a5d-ac96-774b-bcce-b302099a8057");
/// When the records in samples were created.
pub const SAMPLE_CREATED_AT: &str = "2026-05-21T10:00:00.000+00:00";
/// When they were last changed, and when everything else happened.
pub const SAMPLE_INSTANT: &str = "2026-05-21T10:15:00.000+00:00";

/// The id that records in samples have, with the prefix of their kind.
pub fn sample_id<I: TypedId>() -> I {
    I::from(SAMPLE_UUID)
}
