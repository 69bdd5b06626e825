//! Phone numbers and email addresses as fields of request bodies.

use serde_json::json;

use crate::contact::{EmailAddress, PhoneNumber};
use crate::resources::{FilterForm, Operand};

/// An address is compared by its key, so a list is filtered on a column in lower case, or on `lower(…)` of one.
const BY_KEY: FilterForm = FilterForm::understood("an email address", |text| Some(Operand::Text(EmailAddress::parse(text).ok()?.key())));

crate::field_type!(
    PhoneNumber => String,
    json!({ "type": "string", "description": "A phone number; stored in E.164.", "examples": ["+12015550123"] }),
    in events json!({ "type": "string" }),
    filtered by FilterForm::text::<PhoneNumber>("a phone number")
);
crate::field_type!(
    EmailAddress => String,
    json!({ "type": "string", "format": "email" }),
    in events json!({ "type": "string" }),
    filtered by BY_KEY
);
