//! A resource's own columns, declared once: the struct, the column list and the binding of values are derived from the declaration.

use serde_json::{Map, Value};
use sqlx::Postgres;
use sqlx::postgres::PgRow;
use sqlx::query_builder::Separated;

use crate::resources::{FieldDoc, Filter};

/// The list of values that is bound to a statement.
pub type Values<'q> = Separated<'q, Postgres, &'static str>;

/// A struct whose fields are columns of a table. Implemented by [`columns!`](crate::columns), [`read_only!`](crate::read_only) and
/// [`fields!`](crate::fields). What describes the fields is empty for a struct of [`columns!`](crate::columns).
pub trait Columns: Clone + std::fmt::Debug + PartialEq + Send + Sync + Unpin + Sized + 'static {
    /// The column names, equal to the field names and in their order.
    const COLUMNS: &'static [&'static str];

    /// What such a record is, in one sentence.
    const ABOUT: &'static str = "";

    /// The query parameters that a list can be filtered by: the fields with the mark `#[filtered]`.
    const FILTERED: &'static [Filter] = &[];

    /// The columns of the fields with the mark `#[searched]`.
    const SEARCHED: &'static [&'static str] = &[];

    /// The name by which those who use the API know a column; `None` if they do not. A hidden column is known by the name of the field
    /// that shows or sets it, or by its mark `#[known as "…"]`.
    fn known_as(_column: &str) -> Option<&'static str> {
        None
    }

    /// Reads the columns from a row.
    fn read(row: &PgRow) -> Result<Self, sqlx::Error>;

    /// Binds the values in the order of [`Columns::COLUMNS`].
    fn bind(&self, values: &mut Values<'_>);

    /// The names of the columns whose values differ.
    fn differing(&self, other: &Self) -> Vec<&'static str>;

    /// The fields as responses and events show them, in their order.
    fn members(&self) -> Map<String, Value> {
        Map::new()
    }

    /// The fields with the mark `#[detail]`.
    fn detail_members(&self) -> Map<String, Value> {
        Map::new()
    }

    /// The documentation of the fields, in the same order.
    fn field_docs() -> Vec<FieldDoc> {
        Vec::new()
    }
}

/// Declares a struct whose fields are the columns of a table, in addition to the columns that every resource has. The items behind
/// `with` are written by [`read_only!`](crate::read_only) and [`fields!`](crate::fields).
///
/// ```
/// portico::columns! {
///     /// A shelf in the warehouse.
///     #[derive(Default)]
///     pub struct Shelf {
///         /// The label text.
///         pub label: String,
///         /// The maximum load, in kilograms.
///         pub load: Option<f64>,
///     }
/// }
/// ```
#[macro_export]
macro_rules! columns {
    (
        $(#[$outer:meta])* $visible:vis struct $Name:ident { $($(#[$inner:meta])* $seen:vis $column:ident: $Type:ty),* $(,)? }
        $(with { $($described:item)* })?
    ) => {
        $(#[$outer])*
        #[derive(Clone, Debug, PartialEq)]
        $visible struct $Name { $($(#[$inner])* $seen $column: $Type,)* }

        impl $crate::resources::Columns for $Name {
            const COLUMNS: &'static [&'static str] = &[$(stringify!($column)),*];

            fn read(row: &::sqlx::postgres::PgRow) -> Result<Self, ::sqlx::Error> {
                use ::sqlx::Row;
                Ok(Self { $($column: row.try_get(stringify!($column))?,)* })
            }

            fn bind(&self, values: &mut $crate::resources::Values<'_>) {
                $(values.push_bind(&self.$column);)*
            }

            fn differing(&self, other: &Self) -> Vec<&'static str> {
                let columns = [$((stringify!($column), self.$column != other.$column)),*];
                columns.into_iter().filter_map(|(column, differs)| differs.then_some(column)).collect()
            }

            $($($described)*)?
        }
    };
}
