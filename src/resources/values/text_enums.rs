//! Closed sets of words, such as statuses.

use std::marker::PhantomData;

use serde::Deserialize;
use serde_json::json;

use crate::resources::FilterForm;

/// A closed set of words. Implemented by [`text_enum!`](crate::text_enum), and by hand for a type that a [`Word`] is about.
pub trait TextEnum {
    /// All words, as JSON and the database write them.
    const VARIANTS: &'static [&'static str];
}

/// The text is none of these words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("This must be one of {}.", .0.join(", "))]
pub struct InvalidVariant(pub &'static [&'static str]);

/// A word of the set, for read-only fields of logs. It is stored and shown as text, so that an instance of the service also shows a word
/// that only a newer version writes.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent, bound = "")]
pub struct Word<Set>(String, PhantomData<Set>);

impl<Set> From<Word<Set>> for String {
    fn from(word: Word<Set>) -> Self {
        word.0
    }
}

crate::field_type!(Word<Set> => String, json!({ "enum": Set::VARIANTS }), filtered by FilterForm::one_of(Set::VARIANTS); for Set: TextEnum + Send + Sync + 'static);

/// Declares an enum whose variants are the words that JSON and the database write. `default` names the default of a new record;
/// without it the field is required.
///
/// ```
/// portico::text_enum! {
///     /// How full a shelf is.
///     pub enum Fullness, default Empty {
///         /// The shelf is empty.
///         Empty = "empty",
///         /// The shelf has room left.
///         HalfFull = "half_full",
///     }
/// }
/// assert_eq!("half_full".parse(), Ok(Fullness::HalfFull));
/// ```
#[macro_export]
macro_rules! text_enum {
    ($(#[$outer:meta])* $visible:vis enum $Name:ident $(, default $First:ident)? { $($(#[$inner:meta])* $Word:ident = $word:literal),* $(,)? }) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ::serde::Deserialize, ::serde::Serialize, ::sqlx::Type)]
        #[serde(try_from = "String")]
        #[sqlx(type_name = "text")]
        $visible enum $Name { $($(#[$inner])* #[serde(rename = $word)] #[sqlx(rename = $word)] $Word,)* }

        $(
            impl Default for $Name {
                fn default() -> Self {
                    Self::$First
                }
            }
        )?

        impl $Name {
            /// All variants.
            pub const ALL: &'static [Self] = &[$(Self::$Word),*];

            /// The word, as JSON and the database write it.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$Word => $word,)* }
            }
        }

        impl $crate::resources::TextEnum for $Name {
            const VARIANTS: &'static [&'static str] = &[$($word),*];
        }

        impl ::std::str::FromStr for $Name {
            type Err = $crate::resources::InvalidVariant;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                use $crate::resources::{InvalidVariant, TextEnum};
                Self::ALL.iter().copied().find(|word| word.as_str() == text).ok_or(InvalidVariant(Self::VARIANTS))
            }
        }

        impl TryFrom<String> for $Name {
            type Error = $crate::resources::InvalidVariant;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse()
            }
        }

        impl $crate::resources::FieldType for $Name {
            type Column = Self;

            fn into_column(self) -> Self {
                self
            }

            fn initial() -> Option<Self> {
                let initial: &[Self] = &[$(Self::$First)?];
                initial.first().copied()
            }

            fn show(column: &Self) -> ::serde_json::Value {
                column.as_str().into()
            }

            fn schema() -> ::serde_json::Value {
                ::serde_json::json!({ "type": "string", "enum": <Self as $crate::resources::TextEnum>::VARIANTS })
            }

            fn sample() -> ::serde_json::Value {
                Self::initial().unwrap_or(Self::ALL[0]).as_str().into()
            }

            const FILTER: Option<$crate::resources::FilterForm> =
                Some($crate::resources::FilterForm::one_of(<Self as $crate::resources::TextEnum>::VARIANTS));
        }
    };
}
