//! The trait that every value of a request body implements.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use sqlx::PgConnection;

use crate::kernel::ids::CompanyId;

/// A value of a request body, parsed when the request is read: how it is stored, how it is shown and how it is documented.
pub trait Parsed: DeserializeOwned + Send + Sync + 'static {
    /// The type of its column.
    type Kept: Send + Sync;

    /// Converts the value to the stored form.
    fn keep(self) -> Self::Kept;

    /// The default of a new record if the field is missing; `None` for a required field.
    fn initial() -> Option<Self::Kept> {
        None
    }

    /// The stored value as responses show it.
    fn show(kept: &Self::Kept) -> Value;

    /// The JSON Schema for requests and responses.
    fn schema() -> Value;

    /// For a value that references another record: takes a shared lock on that record, so that it cannot be deleted before the
    /// referencing record is committed. Returns the kind of the record if it does not exist.
    fn find_missing(
        _: &Self::Kept,
        _: &mut PgConnection,
        _: CompanyId,
    ) -> impl Future<Output = Result<Option<&'static str>, sqlx::Error>> + Send {
        std::future::ready(Ok(None))
    }
}

/// An optional value: `null` clears it, and the field may be missing.
impl<T: Parsed> Parsed for Option<T> {
    type Kept = Option<T::Kept>;

    fn keep(self) -> Self::Kept {
        self.map(T::keep)
    }

    fn initial() -> Option<Self::Kept> {
        Some(None)
    }

    fn show(kept: &Self::Kept) -> Value {
        kept.as_ref().map_or(Value::Null, T::show)
    }

    fn schema() -> Value {
        let mut schema = T::schema();
        if let Some(kind) = schema.get("type").cloned() {
            schema["type"] = json!([kind, "null"]);
        }
        if let Some(words) = schema.get_mut("enum").and_then(Value::as_array_mut) {
            words.push(Value::Null);
        }
        schema
    }

    async fn find_missing(kept: &Self::Kept, conn: &mut PgConnection, company: CompanyId) -> Result<Option<&'static str>, sqlx::Error> {
        match kept {
            Some(kept) => T::find_missing(kept, conn, company).await,
            None => Ok(None),
        }
    }
}

impl Parsed for bool {
    type Kept = Self;

    fn keep(self) -> Self {
        self
    }

    fn initial() -> Option<Self> {
        Some(false)
    }

    fn show(kept: &Self) -> Value {
        (*kept).into()
    }

    fn schema() -> Value {
        json!({ "type": "boolean" })
    }
}

/// Implements `Parsed` for a type that is stored as another one, which is shown in its usual JSON form.
#[macro_export]
macro_rules! parsed_as {
    ($Type:ty => $Kept:ty, $schema:expr $(; for $($generic:tt)+)?) => {
        impl $(<$($generic)+>)? $crate::resources::Parsed for $Type {
            type Kept = $Kept;

            fn keep(self) -> $Kept {
                self.into()
            }

            fn show(kept: &$Kept) -> ::serde_json::Value {
                ::serde_json::json!(kept)
            }

            fn schema() -> ::serde_json::Value {
                $schema
            }
        }
    };
}

crate::parsed_as!(f64 => f64, json!({ "type": "number" }));
crate::parsed_as!(i64 => i64, json!({ "type": "integer" }));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::Line;

    #[test]
    fn what_may_be_empty_need_not_be_sent_and_is_described_so() {
        assert_eq!(Line::<5>::initial(), None);
        assert_eq!(Option::<Line<5>>::initial(), Some(None));
        assert_eq!(Line::<5>::schema(), json!({ "type": "string", "minLength": 1, "maxLength": 5 }));
        assert_eq!(Option::<Line<5>>::schema(), json!({ "type": ["string", "null"], "minLength": 1, "maxLength": 5 }));
        assert_eq!(Option::<bool>::show(&None), Value::Null);
        assert_eq!(Option::<bool>::show(&Some(true)), Value::Bool(true));
    }
}
