//! A resource's own columns, named once: the struct, the statements and the binding of values follow from it.

use sqlx::Postgres;
use sqlx::postgres::PgRow;
use sqlx::query_builder::Separated;

/// The list of values a statement is given.
pub type Values<'q> = Separated<'q, Postgres, &'static str>;

/// A struct whose fields are columns of a table. Made by [`columns!`](crate::columns).
pub trait Columns: Clone + std::fmt::Debug + PartialEq + Send + Sync + Unpin + Sized + 'static {
    /// The columns, named like the fields and in their order.
    const COLUMNS: &'static [&'static str];

    /// Reads the columns from a row.
    fn read(row: &PgRow) -> Result<Self, sqlx::Error>;

    /// Binds the values in the order of [`Columns::COLUMNS`].
    fn bind(&self, values: &mut Values<'_>);
}

/// Declares a struct whose fields are the columns of a table, beside those every resource has.
///
/// ```
/// portico::columns! {
///     /// A place on the shelf.
///     #[derive(Default)]
///     pub struct Shelf {
///         /// What is written on it.
///         pub label: String,
///         /// How much it carries, in kilograms.
///         pub load: Option<f64>,
///     }
/// }
/// ```
#[macro_export]
macro_rules! columns {
    ($(#[$outer:meta])* $visible:vis struct $Name:ident { $($(#[$inner:meta])* $seen:vis $column:ident: $Type:ty),* $(,)? }) => {
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
        }
    };
}
