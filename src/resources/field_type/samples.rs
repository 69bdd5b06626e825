//! The values of ids and instants in the samples of events.

use serde_json::Value;

use crate::kernel::ids::TypedId;

/// The UUID of every record in samples.
pub const SAMPLE_UUID: &str = "01890a5d-ac96-774b-bcce-b302099a8057";
/// The same in the form of a TypeID.
const SAMPLE_ID: &str = "01h455vb4pex5vsknk084sn02q";
/// When the records in samples were created.
pub const SAMPLE_CREATED_AT: &str = "2026-05-21T10:00:00.000+00:00";
/// When they were last changed, and when everything else happened.
pub const SAMPLE_INSTANT: &str = "2026-05-21T10:15:00.000+00:00";

pub fn sample_id<I: TypedId>() -> Value {
    format!("{}_{SAMPLE_ID}", I::PREFIX).into()
}
