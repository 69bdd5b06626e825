//! A resource's members, told once: the columns, the body, what is shown and how it is described follow from it.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use sqlx::PgConnection;

use crate::kernel::ids::CompanyId;
use crate::kernel::problem::Problem;
use crate::resources::{Columns, Parsed};

/// A struct whose columns are the members of its bodies and answers. Made by [`fields!`](crate::fields).
pub trait Fields: Columns {
    /// What `POST` and `PUT` take.
    type Body: DeserializeOwned + Send + Sync;

    /// The members, in the order in which they are shown.
    fn described() -> Vec<Described>;

    /// What is shown.
    fn members(&self) -> Map<String, Value>;

    /// What a new record holds; refuses when something that must be sent was not.
    fn created_by(body: Self::Body) -> Result<Self, Problem>;

    /// What a record holds instead.
    fn changed_by(&self, body: Self::Body) -> Self;

    /// Holds the records that are named and were not named before; refuses when one of them is not there.
    fn hold_links(
        &self,
        before: Option<&Self>,
        conn: &mut PgConnection,
        company: CompanyId,
    ) -> impl Future<Output = Result<(), Problem>> + Send;
}

/// A member of a resource, for its documentation.
#[derive(Clone, Debug, PartialEq)]
pub struct Described {
    /// What it is called.
    pub name: Cow<'static, str>,
    /// What it means.
    pub sentence: Cow<'static, str>,
    /// What it may be.
    pub schema: Value,
    /// It may be sent; otherwise it is only shown.
    pub sent: bool,
    /// It must be sent for a new record.
    pub needed: bool,
}

impl Described {
    /// A member that may be sent.
    pub fn sent<T: Parsed>(name: &'static str, sentence: &'static str) -> Self {
        Self { name: name.into(), sentence: sentence.into(), schema: T::schema(), sent: true, needed: T::initial().is_none() }
    }

    /// A member that is only shown, of a form that no type tells.
    pub fn formed(name: &'static str, sentence: &'static str, schema: Value) -> Self {
        Self { name: name.into(), sentence: sentence.into(), schema, sent: false, needed: false }
    }

    /// The same, where it may be sent, too.
    pub fn and_sent(self) -> Self {
        Self { sent: true, ..self }
    }

    /// The same, where it must be sent for a new record.
    pub fn and_needed(self) -> Self {
        Self { sent: true, needed: true, ..self }
    }

    /// The same, where it may be sent and is never shown.
    pub fn never_shown(mut self) -> Self {
        self.schema["writeOnly"] = true.into();
        self.and_sent()
    }

    /// A member that is only shown.
    pub fn shown<T: Parsed>(name: &'static str, sentence: &'static str) -> Self {
        Self { name: name.into(), sentence: sentence.into(), schema: T::schema(), sent: false, needed: false }
    }
}

/// Declares a struct whose fields are at once the columns of a table and the members of bodies and answers. Each is given the type it is
/// parsed by ([`Parsed`](crate::resources::Parsed)), and `as` another name outside where it has one. What stands behind `kept` is shown
/// and cannot be sent.
///
/// ```
/// use portico::resources::{Instant, Line, Meta};
///
/// portico::fields! {
///     /// A place on the shelf.
///     pub struct Shelf, sent as ShelfBody {
///         /// What is written on it.
///         label: Line<20>,
///         /// Whether there is something on it.
///         is_full as "full": bool,
///         /// What the shop keeps with it.
///         meta: Meta,
///     }
///     kept {
///         /// When it was last looked at.
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
