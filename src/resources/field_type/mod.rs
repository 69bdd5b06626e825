//! The trait that every value of a request body implements.

mod filter_form;
mod input;
pub mod samples;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::kernel::database::Connection;
use crate::kernel::ids::CompanyId;

pub use filter_form::{FilterForm, FittingValue, Operand};
pub use input::Input;

/// A value of a request body, parsed when the request is read: how it is stored, how it is shown and how it is documented.
pub trait FieldType: DeserializeOwned + Send + Sync + 'static {
    /// The type of its column.
    type Column: Send + Sync;

    /// Converts the value to the stored form.
    fn into_column(self) -> Self::Column;

    /// The default of a new record if the field is missing; `None` for a required field.
    fn initial() -> Option<Self::Column> {
        None
    }

    /// The stored value as responses show it.
    fn show(column: &Self::Column) -> Value;

    /// The JSON Schema for requests and responses.
    fn schema() -> Value;

    /// The JSON Schema in the `data` of events, which is wider if limits of requests are not promised to subscribers: they may change.
    fn event_schema() -> Value {
        Self::schema()
    }

    /// The value in the samples of events, if the field does not declare one.
    fn sample() -> Value {
        Value::Null
    }

    /// The form of the values that a list can be filtered by; `None` if it cannot be filtered by such a field.
    const FILTER: Option<FilterForm> = None;

    /// How a form asks for the value.
    fn input() -> Input {
        Input::of(&Self::schema())
    }

    /// For a value that references another record: takes a shared lock on that record, so that it cannot be deleted before the
    /// referencing record is committed. Returns the kind of the record if it does not exist.
    fn find_missing(
        _: &Self::Column,
        _: &mut Connection,
        _: CompanyId,
    ) -> impl Future<Output = Result<Option<&'static str>, sqlx::Error>> + Send {
        std::future::ready(Ok(None))
    }
}

/// An optional value: `null` clears it, and the field may be missing.
impl<T: FieldType> FieldType for Option<T> {
    type Column = Option<T::Column>;

    fn into_column(self) -> Self::Column {
        self.map(T::into_column)
    }

    fn initial() -> Option<Self::Column> {
        Some(None)
    }

    fn show(column: &Self::Column) -> Value {
        column.as_ref().map_or(Value::Null, T::show)
    }

    fn schema() -> Value {
        or_null(T::schema())
    }

    fn event_schema() -> Value {
        or_null(T::event_schema())
    }

    const FILTER: Option<FilterForm> = match T::FILTER {
        Some(form) => Some(form.or_none()),
        None => None,
    };

    fn input() -> Input {
        T::input()
    }

    async fn find_missing(column: &Self::Column, conn: &mut Connection, company: CompanyId) -> Result<Option<&'static str>, sqlx::Error> {
        match column {
            Some(column) => T::find_missing(column, conn, company).await,
            None => Ok(None),
        }
    }
}

fn or_null(mut schema: Value) -> Value {
    if let Some(kind) = schema.get("type").cloned() {
        schema["type"] = json!([kind, "null"]);
    }
    if let Some(words) = schema.get_mut("enum").and_then(Value::as_array_mut) {
        words.push(Value::Null);
    }
    schema
}

impl FieldType for bool {
    type Column = Self;

    fn into_column(self) -> Self {
        self
    }

    fn initial() -> Option<Self> {
        Some(false)
    }

    fn show(column: &Self) -> Value {
        (*column).into()
    }

    fn schema() -> Value {
        json!({ "type": "boolean" })
    }

    fn sample() -> Value {
        false.into()
    }

    const FILTER: Option<FilterForm> = Some(FilterForm::BOOLEAN);
}

/// A list. It may be missing, and is empty then.
impl<T: FieldType> FieldType for Vec<T> {
    type Column = Vec<T::Column>;

    fn into_column(self) -> Self::Column {
        self.into_iter().map(T::into_column).collect()
    }

    fn initial() -> Option<Self::Column> {
        Some(Vec::new())
    }

    fn show(column: &Self::Column) -> Value {
        column.iter().map(T::show).collect()
    }

    fn schema() -> Value {
        json!({ "type": "array", "items": T::schema() })
    }

    fn sample() -> Value {
        json!([])
    }
}

/// Implements `FieldType` for a type that is stored as another one, which is shown in its usual JSON form. What may follow the schema:
/// `in events` a wider one for events, `asked by` the input of a form, `filtered by` the form of filters, `initially` the value of a new
/// record whose creation does not name one. Without a form of filters, a column that stores text is compared with what the type reads, and
/// lists cannot be filtered by others.
#[macro_export]
macro_rules! field_type {
    (@column $Type:ty => $Column:ty, [$($text:expr)?], $schema:expr $(, in events $event_schema:expr)? $(, asked by $input:expr)? $(, filtered by $filter:expr)? $(, initially $initial:expr)? $(; for $($generic:tt)+)?) => {
        impl $(<$($generic)+>)? $crate::resources::FieldType for $Type {
            type Column = $Column;

            fn into_column(self) -> $Column {
                self.into()
            }

            fn show(column: &$Column) -> ::serde_json::Value {
                ::serde_json::json!(column)
            }

            fn schema() -> ::serde_json::Value {
                $schema
            }

            $(
                fn event_schema() -> ::serde_json::Value {
                    $event_schema
                }
            )?

            const FILTER: Option<$crate::resources::FilterForm> = {
                let forms: &[$crate::resources::FilterForm] = &[$($filter,)? $($text)?];
                forms.first().copied()
            };

            $(
                fn initial() -> Option<$Column> {
                    Some($initial)
                }
            )?

            $(
                fn input() -> $crate::resources::Input {
                    $input
                }
            )?
        }
    };
    ($Type:ty => String, $($described:tt)+) => {
        $crate::field_type!(@column $Type => String, [$crate::resources::FilterForm::text::<$Type>("text")], $($described)+);
    };
    ($Type:ty => $Column:ty, $($described:tt)+) => {
        $crate::field_type!(@column $Type => $Column, [], $($described)+);
    };
}

/// Implements `FieldType` for a type that requests alone have: no response shows it. `asked by` is the input of a form.
#[macro_export]
macro_rules! request_type {
    ($Type:ty, $schema:expr $(, asked by $input:expr)? $(; for $($generic:tt)+)?) => {
        impl $(<$($generic)+>)? $crate::resources::FieldType for $Type {
            type Column = Self;

            fn into_column(self) -> Self {
                self
            }

            fn show(_: &Self) -> ::serde_json::Value {
                ::serde_json::Value::Null
            }

            fn schema() -> ::serde_json::Value {
                $schema
            }

            $(
                fn input() -> $crate::resources::Input {
                    $input
                }
            )?
        }
    };
}

crate::field_type!(f64 => f64, json!({ "type": "number" }), filtered by FilterForm::NUMBER);
crate::field_type!(i64 => i64, json!({ "type": "integer" }), filtered by FilterForm::NUMBER);
crate::field_type!(i32 => i32, json!({ "type": "integer" }), filtered by FilterForm::NUMBER);
crate::field_type!(i16 => i16, json!({ "type": "integer" }), filtered by FilterForm::NUMBER);
crate::field_type!(Map<String, Value> => Self, json!({ "type": "object" }));
// A record of any kind, which responses show by its UUID.
crate::field_type!(Uuid => Self, json!({ "type": "string", "format": "uuid" }), filtered by FilterForm::ANY_ID);
// Without a limit of its length, so for read-only fields. None that lists are filtered by is empty.
crate::field_type!(
    String => String,
    json!({ "type": "string" }),
    filtered by FilterForm::understood("text", |text| (!text.is_empty()).then(|| Operand::Text(text.to_owned())))
);
