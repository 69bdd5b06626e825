//! Ids of requests.

use serde_json::json;

use crate::kernel::request_id::RequestId;
use crate::resources::{FilterForm, Operand};

crate::field_type!(
    RequestId => Self,
    json!({ "type": "string", "pattern": "^[0-9a-f]{32}$" }),
    filtered by FilterForm::understood("the id of a request", |text| Some(Operand::Id(text.parse::<RequestId>().ok()?.uuid())))
);
