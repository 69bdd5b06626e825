//! A resource's fields, declared once: the columns, the request body, the response fields and the documentation are derived from them.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use sqlx::PgConnection;

use crate::kernel::ids::CompanyId;
use crate::kernel::problem::Problem;
use crate::resources::{Columns, Parsed};

/// A struct whose columns are the fields of its request bodies and responses. Implemented by [`fields!`](crate::fields).
pub trait Fields: Columns {
    /// The request body of `POST` and `PUT`.
    type Body: DeserializeOwned + Send + Sync;

    /// The documentation of the fields, in the order in which they are shown.
    fn described() -> Vec<Described>;

    /// The fields as responses show them.
    fn members(&self) -> Map<String, Value>;

    /// Builds a new record from a request body. Returns a validation error if a required field is missing.
    fn created_by(body: Self::Body) -> Result<Self, Problem>;

    /// Returns the record with the fields of a request body applied.
    fn changed_by(&self, body: Self::Body) -> Self;

    /// Takes shared locks on the records that are newly referenced. Returns a validation error if one of them does not exist.
    fn hold_links(
        &self,
        before: Option<&Self>,
        conn: &mut PgConnection,
        company: CompanyId,
    ) -> impl Future<Output = Result<(), Problem>> + Send;
}

/// The documentation of one field of a resource.
#[derive(Clone, Debug, PartialEq)]
pub struct Described {
    /// The name of the field.
    pub name: Cow<'static, str>,
    /// The description.
    pub sentence: Cow<'static, str>,
    /// The JSON Schema.
    pub schema: Value,
    /// Whether requests may contain the field. Otherwise it is read-only.
    pub sent: bool,
    /// Whether the field is required to create a record.
    pub needed: bool,
}

impl Described {
    /// A field that requests may contain.
    pub fn sent<T: Parsed>(name: &'static str, sentence: &'static str) -> Self {
        Self { name: name.into(), sentence: sentence.into(), schema: T::schema(), sent: true, needed: T::initial().is_none() }
    }

    /// A read-only field with an explicit schema, for which there is no type.
    pub fn formed(name: &'static str, sentence: &'static str, schema: Value) -> Self {
        Self { name: name.into(), sentence: sentence.into(), schema, sent: false, needed: false }
    }

    /// Makes the field one that requests may contain.
    pub fn and_sent(self) -> Self {
        Self { sent: true, ..self }
    }

    /// Makes the field required to create a record.
    pub fn and_needed(self) -> Self {
        Self { sent: true, needed: true, ..self }
    }

    /// Makes the field write-only: requests may contain it, responses never do.
    pub fn never_shown(mut self) -> Self {
        self.schema["writeOnly"] = true.into();
        self.and_sent()
    }

    /// A read-only field.
    pub fn shown<T: Parsed>(name: &'static str, sentence: &'static str) -> Self {
        Self { name: name.into(), sentence: sentence.into(), schema: T::schema(), sent: false, needed: false }
    }
}

/// Declares a struct whose fields are both the columns of a table and the fields of request bodies and responses. Each field has
/// the type it is parsed by ([`Parsed`](crate::resources::Parsed)). `as` gives it a different name in JSON. The fields in the
/// `kept` block are read-only.
///
/// ```
/// use portico::resources::{Instant, Line, Meta};
///
/// portico::fields! {
///     /// A shelf in the warehouse.
///     pub struct Shelf, sent as ShelfBody {
///         /// The label text.
///         label: Line<20>,
///         /// Whether the shelf holds anything.
///         is_full as "full": bool,
///         /// Data that the shop stores with it.
///         meta: Meta,
///     }
///     kept {
///         /// When it was last inspected.
///         looked_at: Option<Instant>,
///     }
/// }
/// ```
#[macro_export]
macro_rules! fields {
    (@name $column:ident) => { stringify!($column) };
    (@name $column:ident $outside:literal) => { $outside };
    (
        $(#[$outer:meta])* $visible:vis struct $Name:ident, sent as $Body:ident {
            $($(#[doc = $sentence:literal])+ $column:ident $(as $outside:literal)?: $Type:ty),* $(,)?
        }
        $(kept { $($(#[doc = $kept_sentence:literal])+ $kept:ident $(as $kept_outside:literal)?: $Kept:ty),* $(,)? })?
    ) => {
        $crate::columns! {
            $(#[$outer])*
            $visible struct $Name {
                $($(#[doc = $sentence])+ pub $column: <$Type as $crate::resources::Parsed>::Kept,)*
                $($($(#[doc = $kept_sentence])+ pub $kept: <$Kept as $crate::resources::Parsed>::Kept,)*)?
            }
        }

        #[doc = concat!("What is sent of a [`", stringify!($Name), "`].")]
        #[derive(Debug, Default, ::serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        $visible struct $Body { $($(#[serde(rename = $outside)])? $column: $crate::resources::Member<$Type>,)* }

        impl $crate::resources::Fields for $Name {
            type Body = $Body;

            fn described() -> Vec<$crate::resources::Described> {
                use $crate::resources::Described;
                vec![
                    $(Described::sent::<$Type>($crate::fields!(@name $column $($outside)?), concat!($($sentence),+).trim_ascii()),)*
                    $($(Described::shown::<$Kept>($crate::fields!(@name $kept $($kept_outside)?), concat!($($kept_sentence),+).trim_ascii()),)*)?
                ]
            }

            fn members(&self) -> ::serde_json::Map<String, ::serde_json::Value> {
                use $crate::resources::Parsed;
                ::serde_json::Map::from_iter([
                    $(($crate::fields!(@name $column $($outside)?).to_owned(), <$Type as Parsed>::show(&self.$column)),)*
                    $($(($crate::fields!(@name $kept $($kept_outside)?).to_owned(), <$Kept as Parsed>::show(&self.$kept)),)*)?
                ])
            }

            fn created_by(body: $Body) -> Result<Self, $crate::kernel::problem::Problem> {
                let mut needed = $crate::kernel::problem::FieldErrors::default();
                $(let $column = needed.require($crate::fields!(@name $column $($outside)?), body.$column.or_initial());)*
                match ($($column,)*) {
                    ($(Some($column),)*) => Ok(Self { $($column,)* $($($kept: Default::default(),)*)? }),
                    _ => Err(needed.into_problem()),
                }
            }

            fn changed_by(&self, body: $Body) -> Self {
                let mut changed = self.clone();
                $(body.$column.keep_in(&mut changed.$column);)*
                changed
            }

            async fn hold_links(
                &self,
                before: Option<&Self>,
                conn: &mut ::sqlx::PgConnection,
                company: $crate::kernel::ids::CompanyId,
            ) -> Result<(), $crate::kernel::problem::Problem> {
                let mut wrong = $crate::kernel::problem::FieldErrors::default();
                $(
                    if before.is_none_or(|before| before.$column != self.$column)
                        && let Some(kind) = <$Type as $crate::resources::Parsed>::find_missing(&self.$column, conn, company).await?
                    {
                        wrong.add($crate::fields!(@name $column $($outside)?), $crate::resources::no_such(kind));
                    }
                )*
                wrong.finish()
            }
        }
    };
}
