//! The bodies of routes: what is read of one and what is told about it are one declaration.

use secrecy::SecretString;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::kernel::ids::{DeviceId, TypedId};
use crate::kernel::json::Members;
use crate::providers::card::ApiVersion;
use crate::resources::{Member, Parsed};
use crate::storefront::codes::SubmittedCode;

/// A body that a route takes. Made by [`body!`].
pub trait Body {
    /// Its form.
    fn schema() -> Value;
}

/// The members are read one by one: the route says which ([`Told::reading`](crate::storefront::routes::Told::reading)).
impl Body for Members {
    fn schema() -> Value {
        json!({ "type": "object" })
    }
}

/// What a member of a body may be.
pub(in crate::storefront) trait Sent {
    /// Whether a body without it is refused.
    const NEEDED: bool = true;

    /// Its form.
    fn schema() -> Value;
}

/// Declares the struct that a body is read into, and tells of it: each member by its comment and its type, `as` another name outside where
/// it has one.
macro_rules! body {
    (@name $member:ident) => { stringify!($member) };
    (@name $member:ident $outside:literal) => { $outside };
    (
        $(#[$outer:meta])* $visible:vis struct $Name:ident {
            $($(#[doc = $sentence:literal])+ $(#[serde($($serde:tt)+)])? $seen:vis $member:ident $(as $outside:literal)?: $Type:ty,)*
        }
    ) => {
        #[derive(serde::Deserialize)]
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
pub(in crate::storefront) use body;

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

impl Sent for SubmittedCode {
    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^[0-9]{6}$" })
    }
}

impl Sent for DeviceId {
    fn schema() -> Value {
        json!({ "type": "string", "pattern": format!("^{}_", Self::PREFIX) })
    }
}

impl Sent for ApiVersion {
    fn schema() -> Value {
        json!({ "type": "string", "examples": ["2024-06-20"] })
    }
}

/// `null` is nothing.
impl<T: Sent> Sent for Option<T> {
    const NEEDED: bool = false;

    fn schema() -> Value {
        let mut schema = T::schema();
        schema["type"] = json!([schema["type"], "null"]);
        schema
    }
}

impl<T: Parsed> Sent for Member<T> {
    const NEEDED: bool = false;

    fn schema() -> Value {
        T::schema()
    }
}

/// Refused where it is sent.
impl Sent for Member<IgnoredAny> {
    const NEEDED: bool = false;

    fn schema() -> Value {
        json!({ "not": {} })
    }
}
