//! The marks of a field: attributes beside its documentation that tell what follows from it. The macros that declare fields read them.
//!
//! | mark | meaning |
//! |---|---|
//! | `#[sample = …]` | the value in the samples of events, as JSON; without it that of the type ([`FieldType::sample`]) |
//! | `#[filtered]` | a list can be filtered by the field; `#[filtered as "…"]` by another name than the field's, `#[filtered on "…"]` by another column, or an expression such as `lower(email)` |
//! | `#[searched]` | the `query` of a list searches the field; a computed field has a column of the same name for it |
//! | `#[detail]` | only the response to `GET …/{uuid}` shows the field |
//! | `#[write_only]` | no response shows the field |
//! | `#[accepted]` | requests may contain the computed field, whose value another field sets; no form asks for it |
//! | `#[known as "…"]` | the audit trail tells a change of the hidden column by this name; without it only a field of the same name tells it |
//!
//! [`FieldType::sample`]: crate::resources::FieldType::sample

/// Reads one mark.
#[doc(hidden)]
#[macro_export]
macro_rules! mark {
    // The sentence of a documentation comment; nothing for other marks.
    (text doc = $sentence:literal) => { $sentence };
    (text $($other:tt)+) => { "" };
    // Whether the mark has this name.
    (is searched searched) => { true };
    (is detail detail) => { true };
    (is write_only write_only) => { true };
    (is $name:ident $($other:tt)+) => { false };
    // The filter, and whether the mark is one. What stands for other marks is never used.
    (filter ($Type:ty, $column:expr, $name:expr) filtered) => { ($crate::resources::Filter::of::<$Type>($name).on($column), true) };
    (filter ($Type:ty, $column:expr, $name:expr) filtered as $other:literal) => {
        $crate::mark!(filter ($Type, $column, $other) filtered)
    };
    (filter ($Type:ty, $column:expr, $name:expr) filtered on $other:literal) => {
        ($crate::resources::Filter::of::<$Type>($name).on($other), true)
    };
    (filter ($Type:ty, $column:expr, $name:expr) $($other:tt)+) => { ($crate::resources::Filter::text($column), false) };
    // The name of a hidden column, if the mark tells one.
    (known known as $name:literal) => { Some($name) };
    (known $($other:tt)+) => { None };
    // A `FieldDoc` with all marks applied.
    (describe ($doc:expr)) => { $doc };
    (describe ($doc:expr) [sample = $($sample:tt)+] $($rest:tt)*) => {
        $crate::mark!(describe ($doc.sampled(::serde_json::json!($($sample)+))) $($rest)*)
    };
    (describe ($doc:expr) [detail] $($rest:tt)*) => { $crate::mark!(describe ($doc.detail()) $($rest)*) };
    (describe ($doc:expr) [write_only] $($rest:tt)*) => { $crate::mark!(describe ($doc.write_only()) $($rest)*) };
    (describe ($doc:expr) [accepted] $($rest:tt)*) => { $crate::mark!(describe ($doc.accepted()) $($rest)*) };
    (describe ($doc:expr) [filtered $(as $name:literal)?] $($rest:tt)*) => { $crate::mark!(describe ($doc) $($rest)*) };
    (describe ($doc:expr) [filtered on $column:literal] $($rest:tt)*) => { $crate::mark!(describe ($doc) $($rest)*) };
    (describe ($doc:expr) [searched] $($rest:tt)*) => { $crate::mark!(describe ($doc) $($rest)*) };
    (describe ($doc:expr) [doc = $sentence:literal] $($rest:tt)*) => { $crate::mark!(describe ($doc) $($rest)*) };
}

/// How many of these are chosen.
pub const fn count_chosen<T>(all: &[(T, bool)]) -> usize {
    let (mut at, mut count) = (0, 0);
    while at < all.len() {
        if all[at].1 {
            count += 1;
        }
        at += 1;
    }
    count
}

/// Those that are chosen, `N` of them.
pub const fn chosen<T: Copy, const N: usize>(all: &[(T, bool)]) -> [T; N] {
    let mut chosen = [all[0].0; N];
    let (mut at, mut count) = (0, 0);
    while at < all.len() {
        if all[at].1 {
            chosen[count] = all[at].0;
            count += 1;
        }
        at += 1;
    }
    chosen
}
