//! Request bodies: one declaration defines both how a body is read and how it is described.

use secrecy::SecretString;
use serde_json::{Value, json};

use crate::kernel::ids::{DeviceId, TypedId};
use crate::kernel::json::Members;
use crate::providers::card::ApiVersion;
use crate::resources::{FieldType, Member};
use crate::storefront::audit::{DEVICE_NAME_MAX_LEN, DeviceName};
use crate::storefront::codes::SubmittedCode;

/// A request body. Implemented by [`body!`].
pub trait Body {
    fn schema() -> Value;
}

/// The handler reads the fields itself. The route names them itself.
impl Body for Members {
    fn schema() -> Value {
        json!({ "type": "object" })
    }
}

/// The type of a field of a body.
pub trait Sent {
    /// Whether the field is required.
    const NEEDED: bool = true;

    fn schema() -> Value;
}

/// Declares the struct that a body is deserialized into and derives its JSON schema from the comment and the type of each field. It is
/// written like the struct, and `as` gives a field another name in JSON.
///
/// An empty text is none in what may be left out: the name of the struct says so to the reader (`kernel/json/objects.rs`).
///
/// A macro and not a derive, because the two readers differ: a body without a code is read, and the flow refuses it with the field's name,
/// but the schema says that the code is required. A derive takes every field with a default for an optional one.
macro_rules! body {
    (@name $member:ident) => { stringify!($member) };
    (@name $member:ident $outside:literal) => { $outside };
    (
        $(#[$outer:meta])* $visible:vis struct $Name:ident {
            $($(#[doc = $sentence:literal])+ $(#[serde($($serde:tt)+)])? $seen:vis $member:ident $(as $outside:literal)?: $Type:ty,)*
        }
    ) => {
        #[derive(serde::Deserialize)]
        #[serde(rename = "empty texts are none")]
        $(#[$outer])*
        $visible struct $Name {
            $($(#[doc = $sentence])+ $(#[serde($($serde)+)])? $(#[serde(rename = $outside)])? $seen $member: $Type,)*
        }

        impl $crate::storefront::routes::Body for $Name {
            fn schema() -> serde_json::Value {
                use $crate::storefront::routes::{Sent, body};
                let (mut members, mut needed) = (serde_json::Map::new(), Vec::new());
                $(
                    let name = body!(@name $member $($outside)?);
                    let mut schema = <$Type as Sent>::schema();
                    schema["description"] = concat!($($sentence),+).trim_ascii().into();
                    members.insert(name.to_owned(), schema);
                    if <$Type as Sent>::NEEDED {
                        needed.push(name);
                    }
                )*
                serde_json::json!({ "type": "object", "properties": members, "required": needed })
            }
        }
    };
}
pub(crate) use body;

fn text() -> Value {
    json!({ "type": "string" })
}

impl Sent for String {
    fn schema() -> Value {
        text()
    }
}

impl Sent for SecretString {
    fn schema() -> Value {
        text()
    }
}

impl Sent for DeviceName {
    fn schema() -> Value {
        json!({ "type": "string", "minLength": 1, "maxLength": DEVICE_NAME_MAX_LEN })
    }
}

impl Sent for SubmittedCode {
    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^[0-9]{6}$" })
    }
}

impl Sent for DeviceId {
    fn schema() -> Value {
        Self::json_schema()
    }
}

impl Sent for ApiVersion {
    fn schema() -> Value {
        json!({ "type": "string", "examples": ["2024-06-20"] })
    }
}

/// A `null` is the same as a missing field, and so is an empty text.
impl<T: Sent> Sent for Option<T> {
    const NEEDED: bool = false;

    fn schema() -> Value {
        let mut schema = or_empty(T::schema());
        schema["type"] = json!([schema["type"], "null"]);
        schema
    }
}

/// The schema of what may be left out: a text may be empty as well.
fn or_empty(mut schema: Value) -> Value {
    if let Some(members) = schema.as_object_mut() {
        for limit in ["minLength", "format"] {
            members.shift_remove(limit);
        }
        if let Some(pattern) = members.get_mut("pattern") {
            *pattern = format!("^$|{}", pattern.as_str().unwrap_or_default()).into();
        }
    }
    schema
}

impl<T: FieldType> Sent for Member<T> {
    const NEEDED: bool = false;

    fn schema() -> Value {
        or_empty(T::schema())
    }
}

/// A field that may be sent back as it was read.
impl Sent for Member<Value> {
    const NEEDED: bool = false;

    fn schema() -> Value {
        json!({ "type": ["string", "null"] })
    }
}
