//! Who of the company's own customers a record is for.

use serde_json::json;

use crate::callers::{MAX_OWNER, Owner};
use crate::resources::{FilterForm, Operand};

crate::field_type!(
    Owner => Self,
    json!({ "type": "string", "minLength": 1, "maxLength": MAX_OWNER }),
    in events json!({ "type": "string" }),
    filtered by FilterForm::understood("text", |text| Some(Operand::Text(Owner::try_from(text.to_owned()).ok()?.as_str().to_owned())))
);
