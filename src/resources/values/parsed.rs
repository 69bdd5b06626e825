//! What every value of a body has in common.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use sqlx::PgConnection;

use crate::kernel::ids::CompanyId;

/// A value as a body sends it, parsed at the edge: what is kept of it, how that is shown, and how it is described.
pub trait Parsed: DeserializeOwned + Send + Sync + 'static {
    /// What its column holds.
    type Kept: Send + Sync;

    /// What is kept of a value.
    fn keep(self) -> Self::Kept;

    /// What a new record holds where nothing was sent; `None` for what nothing can stand in for, which therefore must be sent.
    fn initial() -> Option<Self::Kept> {
        None
    }

    /// What is kept, as answers show it.
    fn show(kept: &Self::Kept) -> Value;

    /// What may be sent and what is shown, as a JSON Schema.
    fn schema() -> Value;

    /// Of a value that names another record: holds that record until the transaction ends, so that it is not deleted before the one
    /// that refers to it is committed. Tells what kind of record is not there.
    fn find_missing(
        _: &Self::Kept,
        _: &mut PgConnection,
        _: CompanyId,
    ) -> impl Future<Output = Result<Option<&'static str>, sqlx::Error>> + Send {
        std::future::ready(Ok(None))
    }
}

/// May be empty: `null` clears it, and nothing need be sent.
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

/// `impl Parsed` for a type that a column keeps as another one, shown the way that one is written in JSON.
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
