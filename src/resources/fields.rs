//! A resource's fields, declared once: the columns, the request body, the response fields and the documentation are derived from them.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde_json::Value;
use sqlx::PgConnection;

use crate::kernel::ids::CompanyId;
use crate::kernel::problem::Problem;
use crate::resources::{Columns, FieldType};

/// A struct whose columns are the fields of its request bodies and responses. Implemented by [`fields!`](crate::fields).
pub trait Fields: Columns {
    /// The request body of `POST` and `PUT`.
    type Body: DeserializeOwned + Send + Sync;

    /// Builds a new record from a request body. Returns a validation error if a required field is missing.
    fn created_by(body: Self::Body) -> Result<Self, Problem>;

    /// Returns the record with the fields of a request body applied.
    fn changed_by(&self, body: Self::Body) -> Self;

    /// Takes shared locks on the records that are newly referenced. Returns a validation error if one of them does not exist.
    fn lock_references(
        &self,
        before: Option<&Self>,
        conn: &mut PgConnection,
        company: CompanyId,
    ) -> impl Future<Output = Result<(), Problem>> + Send;
}

/// The documentation of one field of a resource.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldDoc {
    /// The name of the field.
    pub name: Cow<'static, str>,
    /// The description.
    pub sentence: Cow<'static, str>,
    /// The JSON Schema.
    pub schema: Value,
    /// Whether requests may contain the field. Otherwise it is read-only.
    pub writable: bool,
    /// Whether the field is required to create a record.
    pub required: bool,
}

impl FieldDoc {
    /// A field that requests may contain.
    pub fn writable<T: FieldType>(name: &'static str, sentence: &'static str) -> Self {
        Self { name: name.into(), sentence: sentence.into(), schema: T::schema(), writable: true, required: T::initial().is_none() }
    }

    /// A read-only field with an explicit schema, for which there is no type.
    pub fn with_schema(name: &'static str, sentence: &'static str, schema: Value) -> Self {
        Self { name: name.into(), sentence: sentence.into(), schema, writable: false, required: false }
    }

    /// Makes the field one that requests may contain.
    pub fn and_writable(self) -> Self {
        Self { writable: true, ..self }
    }

    /// Makes the field required to create a record.
    pub fn and_required(self) -> Self {
        Self { writable: true, required: true, ..self }
    }

    /// Makes the field write-only: requests may contain it, responses never do.
    pub fn write_only(mut self) -> Self {
        self.schema["writeOnly"] = true.into();
        self.and_writable()
    }

    /// A read-only field.
    pub fn read_only<T: FieldType>(name: &'static str, sentence: &'static str) -> Self {
        Self { name: name.into(), sentence: sentence.into(), schema: T::schema(), writable: false, required: false }
    }
}

/// Declares a struct whose fields are both the columns of a table and the fields of request bodies and responses. Each field has
/// the type it is parsed by ([`FieldType`]). `as` gives it a different name in JSON. The fields in the
/// `read_only` block are read-only.
///
/// ```
/// use portico::resources::{Instant, Line, Meta};
///
/// portico::fields! {
///     /// A shelf in the warehouse.
///     pub struct Shelf, body ShelfBody {
///         /// The label text.
///         label: Line<20>,
///         /// Whether the shelf holds anything.
///         is_full as "full": bool,
///         /// Data that the shop stores with it.
///         meta: Meta,
///     }
///     read_only {
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
        $(#[$outer:meta])* $visible:vis struct $Name:ident, body $Body:ident {
            $($(#[doc = $sentence:literal])+ $column:ident $(as $outside:literal)?: $Type:ty),* $(,)?
        }
        $(read_only { $($(#[doc = $read_only_sentence:literal])+ $read_only:ident $(as $read_only_outside:literal)?: $ReadOnly:ty),* $(,)? })?
    ) => {
        $crate::columns! {
            $(#[$outer])*
            $visible struct $Name {
                $($(#[doc = $sentence])+ pub $column: <$Type as $crate::resources::FieldType>::Column,)*
                $($($(#[doc = $read_only_sentence])+ pub $read_only: <$ReadOnly as $crate::resources::FieldType>::Column,)*)?
            }
            shows {
                $(writable $crate::fields!(@name $column $($outside)?), $column: $Type, concat!($($sentence),+).trim_ascii();)*
                $($(read_only $crate::fields!(@name $read_only $($read_only_outside)?), $read_only: $ReadOnly, concat!($($read_only_sentence),+).trim_ascii();)*)?
            }
        }

        #[doc = concat!("The request body of a [`", stringify!($Name), "`].")]
        #[derive(Debug, Default, ::serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        $visible struct $Body { $($(#[serde(rename = $outside)])? $column: $crate::resources::Member<$Type>,)* }

        impl $crate::resources::Fields for $Name {
            type Body = $Body;

            fn created_by(body: $Body) -> Result<Self, $crate::kernel::problem::Problem> {
                let mut needed = $crate::kernel::problem::FieldErrors::default();
                $(let $column = needed.require($crate::fields!(@name $column $($outside)?), body.$column.or_initial());)*
                match ($($column,)*) {
                    ($(Some($column),)*) => Ok(Self { $($column,)* $($($read_only: Default::default(),)*)? }),
                    _ => Err(needed.into_problem()),
                }
            }

            fn changed_by(&self, body: $Body) -> Self {
                let mut changed = self.clone();
                $(body.$column.write_to(&mut changed.$column);)*
                changed
            }

            async fn lock_references(
                &self,
                before: Option<&Self>,
                conn: &mut ::sqlx::PgConnection,
                company: $crate::kernel::ids::CompanyId,
            ) -> Result<(), $crate::kernel::problem::Problem> {
                let mut wrong = $crate::kernel::problem::FieldErrors::default();
                $(
                    if before.is_none_or(|before| before.$column != self.$column)
                        && let Some(kind) = <$Type as $crate::resources::FieldType>::find_missing(&self.$column, conn, company).await?
                    {
                        wrong.add($crate::fields!(@name $column $($outside)?), $crate::resources::no_such(kind));
                    }
                )*
                wrong.finish()
            }
        }
    };
}

/// Declares the struct of a read-only resource: its fields are columns of a table or view, and fields of responses. Each has the
/// type it is shown by ([`FieldType`]). `as` gives it a different name in responses. The columns in the
/// `hidden` block are not shown.
///
/// ```
/// use portico::kernel::ids::DriverId;
/// use portico::resources::{Instant, Reference};
///
/// portico::read_only! {
///     /// An inspection of a shelf.
///     pub struct Inspection {
///         /// The driver who inspected the shelf.
///         driver_id as "driver": Reference<DriverId>,
///         /// The time of the inspection.
///         inspected_at: Option<Instant>,
///     }
///     hidden {
///         /// The number of the inspection run.
///         run: i64,
///     }
/// }
/// ```
#[macro_export]
macro_rules! read_only {
    (
        $(#[$outer:meta])* $visible:vis struct $Name:ident {
            $($(#[doc = $sentence:literal])+ $column:ident $(as $outside:literal)?: $Type:ty),* $(,)?
        }
        $(hidden { $($(#[$inner:meta])* $hidden:ident: $Hidden:ty),* $(,)? })?
    ) => {
        $crate::columns! {
            $(#[$outer])*
            $visible struct $Name {
                $($(#[doc = $sentence])+ pub $column: <$Type as $crate::resources::FieldType>::Column,)*
                $($($(#[$inner])* pub $hidden: $Hidden,)*)?
            }
            shows {
                $(read_only $crate::fields!(@name $column $($outside)?), $column: $Type, concat!($($sentence),+).trim_ascii();)*
            }
        }
    };
}
