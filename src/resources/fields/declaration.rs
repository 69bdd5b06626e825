//! A resource's fields, declared once: the columns, the request body, the response fields, the `data` of events, the filters of lists
//! and the documentation are derived from them.

use serde::de::DeserializeOwned;

use crate::kernel::database::Connection;
use crate::kernel::ids::CompanyId;
use crate::kernel::problem::Problem;
use crate::resources::Columns;

/// A struct whose columns are the fields of its request bodies and responses. Implemented by [`fields!`](crate::fields).
pub trait Fields: Columns {
    /// The request body of `POST` and `PUT`.
    type Body: DeserializeOwned + Clone + Send + Sync;

    /// Builds a new record from a request body. Returns a validation error if a required field is missing.
    fn created_by(body: Self::Body) -> Result<Self, Problem>;

    /// Returns the record with the fields of a request body applied.
    fn changed_by(&self, body: Self::Body) -> Self;

    /// Takes shared locks on the records that are newly referenced. Returns a validation error if one of them does not exist.
    fn lock_references(
        &self,
        before: Option<&Self>,
        conn: &mut Connection,
        company: CompanyId,
    ) -> impl Future<Output = Result<(), Problem>> + Send;
}

/// Declares the fields of a resource, each with the type it is parsed by ([`FieldType`]). `as` gives a field a different name in JSON,
/// `or` a further name in request bodies. Attributes mark what else follows from the field; `marks.rs` lists them.
///
/// The fields behind `body` are columns that requests may contain and responses show. The other blocks, each of which may be missing:
/// * `by_hand`: fields of the request body that the resource applies to its columns itself, before [`Fields::changed_by`]. The function
///   behind `=` builds what responses show; a field without one has the mark `#[write_only]`.
/// * `read_only`: columns that responses show.
/// * `computed`: fields of responses that are no columns. A function builds them, or `Resource::present` or `Resource::details` does.
/// * `hidden`: columns that are no fields. They have plain types.
///
/// A new record has the default value in the columns of `read_only` and `hidden`.
///
/// ```
/// use portico::resources::{Instant, Line, Meta};
///
/// portico::fields! {
///     /// A shelf in the warehouse.
///     pub struct Shelf, body ShelfBody {
///         /// The label text.
///         #[sample = "A 7"] #[searched]
///         label: Line<20>,
///         /// Whether the shelf holds anything.
///         #[filtered]
///         is_full as "full": bool,
///         /// Data that the shop stores with it.
///         meta: Meta,
///     }
///     by_hand {
///         /// The secret of the lock.
///         #[write_only]
///         lock: Option<Line<100>>,
///     }
///     read_only {
///         /// When it was last inspected.
///         looked_at: Option<Instant>,
///     }
///     computed {
///         /// Whether the shelf has a lock.
///         has_lock: bool = |shelf| shelf.digest.is_some(),
///     }
///     hidden {
///         /// The digest of the lock's secret.
///         digest: Option<Vec<u8>>,
///     }
/// }
/// ```
///
/// [`FieldType`]: crate::resources::FieldType
#[macro_export]
macro_rules! fields {
    (@name $column:ident) => { stringify!($column) };
    (@name $column:ident $outside:literal) => { $outside };
    (
        $(#[$($about:tt)+])* $visible:vis struct $Name:ident, body $Body:ident {
            $($(#[$($mark:tt)+])* $column:ident $(as $outside:literal $(or $alias:literal)*)?: $Type:ty),* $(,)?
        }
        $(by_hand { $($(#[$($by_hand_mark:tt)+])* $by_hand:ident: $ByHand:ty $(= $by_hand_shown:expr)?),* $(,)? })?
        $(read_only { $($(#[$($read_only_mark:tt)+])* $read_only:ident $(as $read_only_outside:literal)?: $ReadOnly:ty),* $(,)? })?
        $(computed { $($(#[$($computed_mark:tt)+])* $computed:ident: $Computed:ty $(= $computed_shown:expr)?),* $(,)? })?
        $(hidden { $($(#[$($hidden_mark:tt)+])* $hidden:ident: $Hidden:ty),* $(,)? })?
    ) => {
        $crate::described_columns! {
            $(#[$($about)+])* $visible struct $Name
            columns {
                $(writable $column as $crate::fields!(@name $column $($outside)?), $Type, [$([$($mark)+])*];)*
                $($(read_only $read_only as $crate::fields!(@name $read_only $($read_only_outside)?), $ReadOnly, [$([$($read_only_mark)+])*];)*)?
            }
            beside {
                $($(writable stringify!($by_hand), $ByHand, [$($by_hand_shown)?], [$([$($by_hand_mark)+])*];)*)?
                $($(read_only stringify!($computed), $Computed, [$($computed_shown)?], [$([$($computed_mark)+])*];)*)?
            }
            hidden { $($($hidden: $Hidden, [$([$($hidden_mark)+])*];)*)? }
        }

        #[doc = concat!("The request body of a [`", stringify!($Name), "`].")]
        #[derive(Clone, Debug, Default, ::serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        $visible struct $Body {
            $($(#[serde(rename = $outside $(, alias = $alias)*)])? $column: $crate::resources::Member<$Type>,)*
            $($($by_hand: $crate::resources::Member<$ByHand>,)*)?
        }

        impl $crate::resources::Fields for $Name {
            type Body = $Body;

            fn created_by(body: $Body) -> Result<Self, $crate::kernel::problem::Problem> {
                let mut needed = $crate::kernel::problem::FieldErrors::default();
                $(let $column = needed.require($crate::fields!(@name $column $($outside)?), body.$column.or_initial());)*
                match ($($column,)*) {
                    ($(Some($column),)*) => Ok(Self {
                        $($column,)*
                        $($($read_only: Default::default(),)*)?
                        $($($hidden: Default::default(),)*)?
                    }),
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
                conn: &mut $crate::kernel::database::Connection,
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

/// Declares the fields of a read-only resource, which are columns of a table or view. Each has the type it is shown by. The marks and
/// the further blocks are those of [`fields!`](crate::fields).
///
/// ```
/// use portico::kernel::ids::DriverId;
/// use portico::resources::{Instant, Reference};
///
/// portico::read_only! {
///     /// An inspection of a shelf.
///     pub struct Inspection {
///         /// The driver who inspected the shelf.
///         #[filtered]
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
        $(#[$($about:tt)+])* $visible:vis struct $Name:ident {
            $($(#[$($mark:tt)+])* $column:ident $(as $outside:literal)?: $Type:ty),* $(,)?
        }
        $(computed { $($(#[$($computed_mark:tt)+])* $computed:ident: $Computed:ty $(= $computed_shown:expr)?),* $(,)? })?
        $(hidden { $($(#[$($hidden_mark:tt)+])* $hidden:ident: $Hidden:ty),* $(,)? })?
    ) => {
        $crate::described_columns! {
            $(#[$($about)+])* $visible struct $Name
            columns { $(read_only $column as $crate::fields!(@name $column $($outside)?), $Type, [$([$($mark)+])*];)* }
            beside { $($(read_only stringify!($computed), $Computed, [$($computed_shown)?], [$([$($computed_mark)+])*];)*)? }
            hidden { $($($hidden: $Hidden, [$([$($hidden_mark)+])*];)*)? }
        }
    };
}

/// What [`fields!`](crate::fields) and [`read_only!`](crate::read_only) have in common: the struct, and all that describes its fields.
#[doc(hidden)]
#[macro_export]
macro_rules! described_columns {
    (
        $(#[$($about:tt)+])* $visible:vis struct $Name:ident
        columns { $($form:ident $column:ident as $name:expr, $Type:ty, [$([$($mark:tt)+])*];)* }
        beside { $($beside_form:ident $beside:expr, $Beside:ty, [$($shown:expr)?], [$([$($beside_mark:tt)+])*];)* }
        hidden { $($hidden:ident: $Hidden:ty, [$([$($hidden_mark:tt)+])*];)* }
    ) => {
        $crate::columns! {
            $(#[$($about)+])*
            $visible struct $Name {
                $(#[doc = concat!($($crate::mark!(text $($mark)+)),*)] pub $column: <$Type as $crate::resources::FieldType>::Column,)*
                $(#[doc = concat!($($crate::mark!(text $($hidden_mark)+)),*)] pub $hidden: $Hidden,)*
            }
            with {
                const ABOUT: &'static str = concat!($($crate::mark!(text $($about)+)),*).trim_ascii();

                const FILTERED: &'static [$crate::resources::Filter] = {
                    const ALL: &[($crate::resources::Filter, bool)] = &[
                        $($($crate::mark!(filter ($Type, stringify!($column), $name) $($mark)+),)*)*
                        // A field that is no column is filtered by a column of the same name.
                        $($($crate::mark!(filter ($Beside, $beside, $beside) $($beside_mark)+),)*)*
                    ];
                    const CHOSEN: [$crate::resources::Filter; $crate::resources::count_chosen(ALL)] = $crate::resources::chosen(ALL);
                    &CHOSEN
                };

                const SEARCHED: &'static [&'static str] = {
                    const ALL: &[(&str, bool)] = &[
                        $((stringify!($column), false $(|| $crate::mark!(is searched $($mark)+))*),)*
                        $(($beside, false $(|| $crate::mark!(is searched $($beside_mark)+))*),)*
                        $((stringify!($hidden), false $(|| $crate::mark!(is searched $($hidden_mark)+))*),)*
                    ];
                    const CHOSEN: [&str; $crate::resources::count_chosen(ALL)] = $crate::resources::chosen(ALL);
                    &CHOSEN
                };

                fn known_as(column: &str) -> Option<&'static str> {
                    const NAMES: &[(&str, Option<&str>)] = &[
                        $((stringify!($column), Some($name)),)*
                        $($((stringify!($hidden), $crate::mark!(known $($hidden_mark)+)),)*)*
                        // A hidden column has the name of the field that shows or sets it.
                        $(($beside, Some($beside)),)*
                    ];
                    NAMES.iter().find_map(|(known, name)| name.filter(|_| *known == column))
                }

                fn members(&self) -> ::serde_json::Map<String, ::serde_json::Value> {
                    let mut members = ::serde_json::Map::new();
                    $(
                        if !(false $(|| $crate::mark!(is detail $($mark)+) || $crate::mark!(is write_only $($mark)+))*) {
                            members.insert($name.to_owned(), <$Type as $crate::resources::FieldType>::show(&self.$column));
                        }
                    )*
                    $($(
                        let shown: fn(&Self) -> <$Beside as $crate::resources::FieldType>::Column = $shown;
                        members.insert($beside.to_owned(), <$Beside as $crate::resources::FieldType>::show(&shown(self)));
                    )?)*
                    members
                }

                fn detail_members(&self) -> ::serde_json::Map<String, ::serde_json::Value> {
                    let mut members = ::serde_json::Map::new();
                    $(
                        if false $(|| $crate::mark!(is detail $($mark)+))* {
                            members.insert($name.to_owned(), <$Type as $crate::resources::FieldType>::show(&self.$column));
                        }
                    )*
                    members
                }

                fn field_docs() -> Vec<$crate::resources::FieldDoc> {
                    vec![
                        $($crate::mark!(
                            describe ($crate::resources::FieldDoc::$form::<$Type>($name, concat!($($crate::mark!(text $($mark)+)),*).trim_ascii()))
                            $([$($mark)+])*
                        ),)*
                        $($crate::mark!(
                            describe ($crate::resources::FieldDoc::$beside_form::<$Beside>(
                                $beside, concat!($($crate::mark!(text $($beside_mark)+)),*).trim_ascii()
                            ))
                            $([$($beside_mark)+])*
                        ),)*
                    ]
                }
            }
        }
    };
}
